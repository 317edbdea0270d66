import { describe, expect, it } from "vitest";
import type { Counter, Layout } from "../../src/data/types.ts";
import { AREA, areaCell, DrawList, FLAT } from "../../src/draw/list.ts";
import { curveOf } from "../../src/views/timeline/arrows.ts";
import { counterAt, counterCells, firstAfter } from "../../src/views/timeline/counter-cells.ts";
import { laneAt, layOutLanes, rowAt, rowTop } from "../../src/views/timeline/lane-layout.ts";
import { ticksFor } from "../../src/views/timeline/ruler.ts";
import { RULER_PX, Screen } from "../../src/views/timeline/screen.ts";
import {
  around,
  between,
  center,
  clamp,
  home,
  pan,
  whole,
  zoomAt,
} from "../../src/views/timeline/visible-span.ts";

const EXTENT = 1_000_000;

describe("the window", () => {
  it("keeps the moment under the pointer where it is", () => {
    let span = { from: 200_000, to: 600_000 };
    for (const factor of [0.5, 0.5, 0.3, 2, 0.9]) {
      const share = 0.3;
      const before = span.from + share * (span.to - span.from);
      span = zoomAt(span, factor, share, EXTENT);
      expect(span.from + share * (span.to - span.from)).toBeCloseTo(before, 3);
    }
  });

  it("never leaves the trace, never gets too short, never turns around", () => {
    const all = whole(EXTENT);
    for (const span of [
      { from: -1e9, to: 1e9 },
      { from: 5, to: 5 },
      { from: 2e6, to: 3e6 },
      { from: -500, to: -400 },
    ]) {
      const kept = clamp(span, EXTENT);
      expect(kept.to).toBeGreaterThan(kept.from);
      expect(kept.from).toBeGreaterThanOrEqual(all.from - 1e-6);
      expect(kept.to).toBeLessThanOrEqual(all.to + 1e-6);
    }
  });

  it("keeps its length when moved, also at the ends", () => {
    const span = { from: 100, to: 50_100 };
    for (const by of [-1e7, 10, 1e7]) {
      const moved = pan(span, by, EXTENT);
      expect(moved.to - moved.from).toBeCloseTo(50_000, 6);
    }
  });

  it("glides from one to the other and arrives", () => {
    const a = { from: 0, to: 1_000_000 };
    const b = { from: 400_000, to: 400_100 };
    expect(between(a, b, 0).from).toBeCloseTo(a.from, 6);
    expect(between(a, b, 1).to).toBeCloseTo(b.to, 6);
    for (let share = 0; share < 1; share += 0.1) {
      const now = between(a, b, share);
      expect(now.from).toBeLessThanOrEqual(400_050);
      expect(now.to).toBeGreaterThanOrEqual(400_050);
    }
  });

  it("opens on the slices, not on a late instant", () => {
    const first = home({ extent_ns: EXTENT, work_ns: [0, EXTENT / 2] });
    expect(first.to).toBeLessThan(EXTENT * 0.51);
    expect(first.from).toBeLessThan(0);
    expect(home({ extent_ns: EXTENT, work_ns: [0, EXTENT] })).toEqual(whole(EXTENT));
    expect(home({ extent_ns: 5, work_ns: [0, 0] })).toEqual(whole(5));
  });

  it("survives an empty trace", () => {
    const all = whole(0);
    expect(all.to).toBeGreaterThan(all.from);
    expect(clamp({ from: 0, to: 0 }, 0).to).toBeGreaterThan(clamp({ from: 0, to: 0 }, 0).from);
    expect(Number.isFinite(center(all, 5, 0).from)).toBe(true);
    expect(Number.isFinite(around({ from: 0, to: 0 }, 0).to)).toBe(true);
  });
});

describe("the ruler", () => {
  it("has round steps that stand far enough apart", () => {
    for (const length of [20, 777, 12_345, 9.9e8, 3.6e12]) {
      const { step, first } = ticksFor(100, 100 + length, 1200);
      expect((step / length) * 1200).toBeGreaterThanOrEqual(110);
      expect([1, 2, 5]).toContain(Math.round(step / 10 ** Math.floor(Math.log10(step) + 1e-9)));
      expect(first).toBeGreaterThanOrEqual(100);
      expect(first % step).toBe(0);
    }
  });
});

const layout: Layout = {
  extent_ns: EXTENT,
  work_ns: [0, EXTENT],
  categories: [],
  steps: [],
  ledger: {} as Layout["ledger"],
  groups: [
    { id: 0, label: "Steps", detail: "", kind: "steps", rows: [0], slices: 3, derived: true },
    { id: 1, label: "stream 7", detail: "", kind: "device", rows: [1], slices: 10, derived: false },
    { id: 2, label: "main", detail: "", kind: "host", rows: [2, 3, 4], slices: 30, derived: false },
    { id: 3, label: "idle", detail: "", kind: "host", rows: [5], slices: 0, derived: false },
  ],
  rows: [3, 10, 10, 10, 10, 0].map((count, id) => ({
    id,
    group: [0, 1, 2, 2, 2, 3][id]!,
    label: "",
    depth: [0, 0, 0, 1, 2, 0][id]!,
    count,
    first_ns: 0,
    last_ns: EXTENT,
  })),
};
const counter: Counter = {
  id: "u",
  label: "GPU",
  unit: "share",
  suffix: "",
  device: 0,
  definition: "",
  max: 1,
  t: [0, 500_000],
  lo: [0.25, 0.5],
  hi: [0.5, 1],
};
const none = { pins: new Set<string>(), folded: new Set<string>(), showEmpty: false, path: false };

describe("the lanes", () => {
  it("pins the steps, hides empty lanes and says how many", () => {
    const placed = layOutLanes(layout, [counter], none);
    expect(placed.pinned.map((lane) => lane.key)).toEqual(["g0"]);
    expect(placed.lanes.map((lane) => lane.key)).toEqual(["counters", "c:u", "g1", "g2"]);
    expect(placed.empty).toBe(1);
    const all = layOutLanes(layout, [counter], { ...none, showEmpty: true });
    expect(all.lanes.map((lane) => lane.key)).toContain("g3");
  });

  it("stand one below the other without gap or overlap", () => {
    const placed = layOutLanes(layout, [counter], { ...none, pins: new Set(["g1", "c:u"]), path: true });
    for (const lanes of [placed.pinned, placed.lanes])
      lanes.reduce((y, lane) => {
        expect(lane.y).toBe(y);
        return y + lane.height;
      }, 0);
    expect(placed.pinned.map((lane) => lane.key)).toEqual(["g0", "path", "c:u", "g1"]);
  });

  it("folds the counters of a file if they are many, until they are opened", () => {
    const recorded = Array.from({ length: 7 }, (_, i) => ({ ...counter, id: `file:${i}` }));
    const kinds = (folded: string[], counters: Counter[]) =>
      layOutLanes(layout, counters, { ...none, folded: new Set(folded) }).lanes.filter(
        (lane) => lane.kind === "counter",
      );
    expect(kinds([], [counter, ...recorded])).toHaveLength(1);
    expect(kinds(["recorded"], [counter, ...recorded])).toHaveLength(8);
    expect(kinds([], recorded.slice(0, 6))).toHaveLength(6);
    expect(kinds(["recorded"], recorded.slice(0, 6))).toHaveLength(0);
  });

  it("keep every event counted when folded", () => {
    const placed = layOutLanes(layout, [], { ...none, folded: new Set(["g2"]) });
    const lane = placed.lanes.find((one) => one.key === "g2")!;
    expect(lane.rows).toEqual([2]);
    expect(lane.hidden).toBe(2);
    expect(lane.count).toBe(30);
    expect(placed.places.get(4)).toMatchObject({ at: 0, hidden: true });
  });

  it("are found by height as a search from the top finds them", () => {
    const { lanes, height } = layOutLanes(layout, [counter], none);
    for (let y = 0; y < height; y++)
      expect(laneAt(lanes, y)).toBe(lanes.find((lane) => y >= lane.y && y < lane.y + lane.height));
    expect(laneAt(lanes, height)).toBeUndefined();
    const main = lanes.find((lane) => lane.key === "g2")!;
    expect(main.rows.map((_, at) => rowAt(main, rowTop(at) + 3))).toEqual([2, 3, 4]);
    expect(rowAt(main, 0)).toBe(-1);
  });
});

describe("the screen", () => {
  const screen = new Screen();
  screen.width = 1000;
  screen.height = 200;
  screen.view = { from: 0, to: EXTENT };
  screen.laneLayout = layOutLanes(layout, [counter], none);

  it("turns times to pixels and back", () => {
    expect(screen.x(250_000)).toBeCloseTo(250, 6);
    expect(screen.time(screen.x(123_456))).toBeCloseTo(123_456, 6);
  });

  it("scrolls no further than there is something", () => {
    screen.scroll = 1e6;
    screen.settle();
    expect(screen.scroll).toBe(screen.mostScroll);
    const last = screen.laneLayout.lanes.at(-1)!;
    expect(screen.laneTop(last) + last.height).toBeCloseTo(screen.height, 6);
    screen.scroll = -5;
    screen.settle();
    expect(screen.scroll).toBe(0);
  });

  it("finds rows by height, pinned ones first", () => {
    expect(screen.at(RULER_PX + 10)?.row).toBe(0);
    const y = screen.rowY(1)!;
    expect(screen.at(y + 5)?.row).toBe(1);
    expect(screen.at(3)).toBeUndefined();
    expect(screen.rowsBetween(RULER_PX, y + 1)).toEqual([0, 1]);
  });
});

describe("counters", () => {
  it("fill their strip up to the lowest and the highest value", () => {
    const list = new DrawList();
    list.clear(100, 1);
    list.strip(AREA, 0, 30, 0, 30);
    counterCells(list, counter, { from: 0, to: EXTENT }, 100);
    expect(list.cells[10]).toBe(areaCell(0.25, 0.5));
    expect(list.cells[90]).toBe(areaCell(0.5, 1));
    expect(counterAt(counter, 499_999)).toEqual({ lo: 0.25, hi: 0.5 });
    expect(counterAt(counter, -1)).toBeUndefined();
    expect(firstAfter([1, 2, 2, 3], 2)).toBe(3);
  });
});

describe("strips", () => {
  it("fill at least one cell and keep within their width, at any density", () => {
    for (const ratio of [1, 1.5, 2]) {
      const list = new DrawList();
      list.clear(50, ratio);
      list.strip(FLAT, 0, 20, 0, 20);
      list.strip(FLAT, 20, 20, 0, 40);
      list.fill(-10, -5, 7);
      list.fill(20, 20, 8);
      list.fill(49.9, 200, 9);
      const first = list.cells.subarray(0, list.width);
      const second = list.cells.subarray(list.width, 2 * list.width);
      expect(first.every((cell) => cell === 0)).toBe(true);
      expect(second[0]).toBe(7);
      expect([...second].filter((cell) => cell === 8)).toHaveLength(1);
      expect(second[list.width - 1]).toBe(9);
    }
  });
});

describe("arrows", () => {
  const ref = (row: number, start_ns: number, dur_ns: number) => ({
    id: row,
    name: "",
    category: 0,
    row,
    start_ns,
    dur_ns,
  });

  it("leave at the end of what comes first, and stop a little beyond the edge", () => {
    const x = (time: number) => time / 1000;
    const curve = curveOf({ from: ref(1, 1000, 500), to: ref(2, 90_000_000, 5) }, x, (row) => row * 100, 800);
    expect(curve?.x0).toBe(1.5);
    expect(curve?.x1).toBe(860);
    expect(curve?.y1).toBe(210);
  });

  it("leave at the start where the second begins within the first", () => {
    const curve = curveOf(
      { from: ref(1, 1000, 500), to: ref(2, 1200, 5) },
      (time) => time,
      () => 0,
      8000,
    );
    expect(curve?.x0).toBe(1000);
  });
});
