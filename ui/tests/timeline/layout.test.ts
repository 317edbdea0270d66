import { describe, expect, it } from "vitest";
import { TileCache } from "../../src/data/tile-cache.ts";
import { Wanted } from "../../src/data/tile-store.ts";
import { decodeTiles, levelFor, tileSpan, topLevel } from "../../src/data/tiles.ts";
import { writeTiles } from "../../src/data/write-tiles.ts";
import { DrawList, FLAT } from "../../src/draw/list.ts";
import { makePalette } from "../../src/draw/palette.ts";
import { Stretches } from "../../src/views/timeline/marks.ts";
import { RowPainter, type Scene } from "../../src/views/timeline/row-cells.ts";
import { cover, TileCover } from "../../src/views/timeline/tile-cover.ts";
import type { Span } from "../../src/views/timeline/visible-span.ts";
import { itemsOf, randomRow, type Slice } from "./encode.ts";

const WIDTH = 1400;

function scene(view: Span, width = WIDTH): Scene {
  return {
    list: new DrawList(),
    labels: new Stretches(),
    path: new Stretches(),
    tally: { shown: 0, counted: 0 },
    palette: makePalette((variable) => (variable === "--surface" ? "#ffffff" : "#336699")),
    names: { shade: () => 2, isHit: () => false },
    searching: false,
    onPath: undefined,
    view,
    width,
  };
}

const rangeOf = (slices: readonly Slice[]) => ({
  id: 0,
  first_ns: slices[0]!.start,
  last_ns: Math.max(...slices.map((slice) => slice.end)),
  count: slices.length,
});

/** Puts the tiles of a level that touch a stretch into the cache. */
function load(cache: TileCache, slices: readonly Slice[], level: number, from: number, to: number): void {
  const span = tileSpan(level);
  for (let index = Math.max(0, Math.floor(from / span)); index * span <= to; index++)
    for (const tile of decodeTiles(
      writeTiles([{ row: 0, level, index, items: itemsOf(slices, level, index) }]),
    ))
      cache.put(tile);
}

function paint(slices: readonly Slice[], view: Span, prepare: (cache: TileCache, level: number) => void) {
  const made = scene(view);
  const top = topLevel(rangeOf(slices).last_ns);
  const level = levelFor((view.to - view.from) / WIDTH, top);
  const cache = new TileCache(1e9);
  prepare(cache, level);
  const pieces = new TileCover();
  const missing = new Wanted();
  cover(pieces, cache, rangeOf(slices), level, top, view.from, view.to, missing);
  made.list.clear(WIDTH, 1);
  made.list.strip(FLAT, 0, 20, 0, 20);
  new RowPainter().row(made, pieces, 0);
  return { made, missing, cells: made.list.cells.subarray(0, WIDTH), level, top };
}

const alpha = (cell: number) => (cell >>> 24) & 0xfe;
const whole = (slices: readonly Slice[]): Span => ({ from: 0, to: rangeOf(slices).last_ns + 1 });

describe("counting", () => {
  it("counts every slice once at every zoom that shows all", () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const slices = randomRow(seed, 3000);
      const view = whole(slices);
      const { made } = paint(slices, view, (cache, level) => load(cache, slices, level, 0, view.to));
      expect(made.tally.shown + made.tally.counted).toBe(slices.length);
    }
  });

  it("counts every slice once when coarse and fine tiles stand side by side", () => {
    const slices = randomRow(6, 3000);
    const view = whole(slices);
    const { made, missing } = paint(slices, view, (cache, level) => {
      load(cache, slices, level + 2, 0, view.to);
      load(cache, slices, level, 0, view.to / 3);
    });
    expect(missing.n).toBeGreaterThan(0);
    expect(made.tally.shown + made.tally.counted).toBe(slices.length);
  });

  it("counts what touches the window when zoomed in, and nothing else", () => {
    const slices = randomRow(7, 2000);
    const middle = slices[1000]!;
    const view = { from: middle.start - 5000, to: middle.start + 5000 };
    const { made } = paint(slices, view, (cache, level) => load(cache, slices, level, view.from, view.to));
    const inside = slices.filter((slice) => slice.start >= view.from && slice.start <= view.to).length;
    const total = made.tally.shown + made.tally.counted;
    expect(total).toBeGreaterThanOrEqual(inside);
    // A bucket at the edge may hold neighbors that start just outside.
    expect(total).toBeLessThanOrEqual(inside + 4);
  });
});

describe("what is drawn", () => {
  it("covers at least a pixel for each slice, however far away", () => {
    const slices = randomRow(8, 500);
    const view = whole(slices);
    const { cells } = paint(slices, view, (cache, level) => load(cache, slices, level, 0, view.to));
    const perNs = WIDTH / (view.to - view.from);
    for (const slice of slices) {
      const left = Math.floor(slice.start * perNs);
      const right = Math.ceil(slice.end * perNs);
      const near = [...cells.subarray(Math.max(0, left - 1), right + 1)];
      expect(near.some((cell) => alpha(cell) > 60)).toBe(true);
    }
  });

  it("joins the pieces of a slice across tiles and labels it once", () => {
    const slices = [{ start: 100, end: 900_000, id: 5, name: 9, category: 0 }];
    const view = { from: 0, to: 1_000_000 };
    const { made, level, cells } = paint(slices, view, (cache, at) => load(cache, slices, at, 0, view.to));
    expect(900_000 / tileSpan(level)).toBeGreaterThan(2);
    expect(made.labels.n).toBe(1);
    expect(made.list.quads).toBe(1);
    expect(made.labels.left[0]).toBe(0);
    expect(made.labels.right[0]).toBeCloseTo(0.9 * WIDTH, -1);
    expect(alpha(cells[0]!)).toBeGreaterThan(250);
    expect(cells[Math.round(0.9 * WIDTH) + 2]).toBe(0);
    expect(made.tally).toEqual({ shown: 1, counted: 0 });
  });

  it("does not join different slices that touch at a tile's edge", () => {
    const edge = tileSpan(levelFor(1_000_000 / WIDTH, 40));
    const slices = [
      { start: 0, end: edge, id: 0, name: 1, category: 0 },
      { start: edge, end: 2 * edge, id: 1, name: 2, category: 0 },
    ];
    const view = { from: 0, to: 1_000_000 };
    const { made } = paint(slices, view, (cache, level) => load(cache, slices, level, 0, view.to));
    expect(made.labels.n).toBe(2);
  });

  it("shades what is narrower than a pixel by the time it covers", () => {
    const row = (share: number) =>
      Array.from({ length: 20_000 }, (_, i) => {
        const start = i * 100;
        return { start, end: start + 100 * share, id: i, name: 1, category: 0 };
      });
    const mean = (share: number) => {
      const slices = row(share);
      const view = { from: 0, to: 2_000_000 };
      const { cells } = paint(slices, view, (cache, level) => load(cache, slices, level, 0, view.to));
      const inner = [...cells.subarray(10, WIDTH - 10)].map(alpha);
      // Even occupancy gives an even picture: no stripes from how buckets fall on pixels.
      expect(Math.max(...inner) - Math.min(...inner)).toBeLessThan(40);
      return inner.reduce((a, b) => a + b, 0) / inner.length / 254;
    };
    const [quarter, half, most] = [mean(0.25), mean(0.5), mean(0.9)];
    expect(half - quarter).toBeCloseTo(0.25 * 0.68, 1);
    expect(most - half).toBeCloseTo(0.4 * 0.68, 1);
  });

  it("leaves room for a short slice just before a long one", () => {
    const slices = [
      { start: 100_300, end: 100_310, id: 0, name: 1, category: 0 },
      { start: 100_320, end: 400_000, id: 1, name: 2, category: 5 },
    ];
    const view = { from: 0, to: 1_400_000 };
    const made = scene(view);
    made.palette = makePalette((v) => (v === "--cat-0" ? "#ff0000" : "#0000ff"));
    const cache = new TileCache(1e9);
    const level = levelFor(1000, 40);
    load(cache, slices, level, 0, view.to);
    const pieces = new TileCover();
    cover(pieces, cache, rangeOf(slices), level, 12, view.from, view.to, new Wanted());
    made.list.clear(WIDTH, 1);
    made.list.strip(FLAT, 0, 20, 0, 20);
    new RowPainter().row(made, pieces, 0);
    expect(made.tally.shown + made.tally.counted).toBe(2);
    expect(made.list.cells[100]).not.toBe(0);
    expect(alpha(made.list.cells[150]!)).toBeGreaterThan(200);
  });

  it("stays within the window at both edges", () => {
    const slices = [
      { start: 0, end: 10_000, id: 0, name: 1, category: 0 },
      { start: 999_990, end: 1_000_000, id: 1, name: 2, category: 0 },
    ];
    const view = { from: 5000, to: 999_999 };
    const { made, cells } = paint(slices, view, (cache, level) => load(cache, slices, level, 0, 1e6));
    expect(made.tally.shown).toBe(2);
    expect(alpha(cells[0]!)).toBeGreaterThan(200);
    expect(alpha(cells[WIDTH - 1]!)).toBeGreaterThan(60);
  });

  it("fades what a search did not find", () => {
    const slices = randomRow(9, 50);
    const view = whole(slices);
    const made = scene(view);
    made.searching = true;
    made.names = { shade: () => 2, isHit: (name) => name === slices[0]!.name };
    const cache = new TileCache(1e9);
    const top = topLevel(view.to);
    const level = levelFor((view.to - view.from) / WIDTH, top);
    load(cache, slices, level, 0, view.to);
    const pieces = new TileCover();
    cover(pieces, cache, rangeOf(slices), level, top, view.from, view.to, new Wanted());
    made.list.clear(WIDTH, 1);
    made.list.strip(FLAT, 0, 20, 0, 20);
    new RowPainter().row(made, pieces, 0);
    const seen = new Set([...made.list.cells.subarray(0, WIDTH)].map(alpha).filter(Boolean));
    expect(Math.max(...seen)).toBeGreaterThan(250);
    expect(Math.min(...seen)).toBeLessThan(70);
  });
});

describe("finding tiles", () => {
  const slices = randomRow(10, 3000);
  const view = whole(slices);

  it("asks for what is missing and shows the level above meanwhile", () => {
    const { made, missing } = paint(slices, view, (cache, level) => load(cache, slices, level + 1, 0, view.to));
    expect(missing.n).toBeGreaterThan(0);
    expect(made.list.quads).toBeGreaterThan(100);
  });

  it("shows the finer level while a coarser one loads", () => {
    const { made, missing } = paint(slices, view, (cache, level) => load(cache, slices, level - 1, 0, view.to));
    expect(missing.n).toBeGreaterThan(0);
    expect(made.tally.shown + made.tally.counted).toBe(slices.length);
  });

  it("asks for nothing where a coarser tile already shows each slice by itself", () => {
    const few = [0, 1, 2].map((id) => ({ start: id * 1e6, end: id * 1e6 + 5e5, id, name: id, category: 0 }));
    const near = { from: 1e6 - 1e4, to: 1e6 + 3e4 };
    const { made, missing, level } = paint(few, near, (cache, at) => load(cache, few, at + 6, 0, 3e6));
    expect(level).toBeGreaterThan(0);
    expect(missing.n).toBe(0);
    expect(made.tally).toEqual({ shown: 1, counted: 0 });
    expect(made.labels.left[0]).toBeCloseTo(0.25 * WIDTH, -1);
  });

  it("asks for nothing outside of the row's first and last slice", () => {
    const one = [{ start: 5_000_000, end: 5_000_100, id: 0, name: 0, category: 0 }];
    const { missing } = paint(one, { from: 0, to: 1_000_000 }, () => {});
    expect(missing.n).toBe(0);
  });
});
