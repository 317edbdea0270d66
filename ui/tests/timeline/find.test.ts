import { describe, expect, it } from "vitest";
import { TileCache } from "../../src/data/tile-cache.ts";
import { Wanted } from "../../src/data/tile-store.ts";
import { decodeTiles, type Tile, topLevel } from "../../src/data/tiles.ts";
import type { Ref } from "../../src/data/types.ts";
import { writeTiles } from "../../src/data/write-tiles.ts";
import { lastBefore, matcher } from "../../src/views/timeline/finder.ts";
import { itemAt, neighbor } from "../../src/views/timeline/hit.ts";
import { cover, TileCover } from "../../src/views/timeline/tile-cover.ts";
import { itemsOf, random, randomRow, type Slice } from "./encode.ts";

const tileOf = (slices: readonly Slice[], level: number, index: number): Tile =>
  decodeTiles(writeTiles([{ row: 0, level, index, items: itemsOf(slices, level, index) }]))[0]!;

describe("the neighbor in a row", () => {
  // Without slices of no length: several of those may start at one moment.
  const slices = randomRow(11, 2000)
    .filter((slice) => slice.end > slice.start)
    .map((slice, id) => ({ ...slice, id }));
  const top = topLevel(slices.at(-1)!.end);
  const store = { load: async (_row: number, level: number, index: number) => tileOf(slices, level, index) };
  const from = (id: number, forward: boolean) => {
    const origin = { row: 0, id, start: slices[id]!.start };
    return neighbor(store, top, origin, forward, new AbortController().signal);
  };

  it("is the next and the previous slice, wherever they are", async () => {
    for (const id of [1, 2, 500, 1000, slices.length - 2]) {
      expect(await from(id, true)).toBe(id + 1);
      expect(await from(id, false)).toBe(id - 1);
    }
  });

  it("ends at the ends", async () => {
    expect(await from(0, false)).toBeUndefined();
    expect(await from(slices.length - 1, true)).toBeUndefined();
  });
});

describe("what is under the pointer", () => {
  it("is the slice there, with both its ends though it lies across tiles", () => {
    const slices = [
      { start: 1000, end: 900_000, id: 0, name: 3, category: 0 },
      { start: 950_000, end: 950_100, id: 1, name: 4, category: 0 },
    ];
    const cache = new TileCache(1e9);
    for (let index = 0; index < 8; index++) cache.put(tileOf(slices, 8, index));
    const pieces = new TileCover();
    const row = { id: 0, first_ns: 1000, last_ns: 950_100, count: 2 };
    cover(pieces, cache, row, 8, 11, 0, 1_000_000, new Wanted());
    expect(itemAt(pieces, 500_000, 100)).toMatchObject({ id: 0, from: 1000, exact: true, count: 1 });
    expect(itemAt(pieces, 500_000, 100)?.to).toBeCloseTo(900_000, 0);
    expect(itemAt(pieces, 949_000, 500)).toBeUndefined();
    expect(itemAt(pieces, 949_000, 1500)?.id).toBe(1);
  });
});

describe("the previous hit", () => {
  const next = random(5);
  const refs: Ref[] = [];
  let time = 0;
  for (let id = 0; id < 12_000; id++) {
    time += Math.floor(next() < 0.9 ? next() * 10 : next() * 1e7);
    refs.push({ id, name: "x", category: 0, row: 0, start_ns: time, dur_ns: 1 });
  }
  let asked = 0;
  const page = async (after: number) => {
    asked++;
    const first = refs.findIndex((ref) => ref.start_ns >= after);
    return first < 0 ? [] : refs.slice(first, first + 1000);
  };

  it("is the last one before, found with few questions", async () => {
    for (const at of [1, 2, 999, 1000, 1001, 5000, 11_999]) {
      asked = 0;
      const before = refs[at]!.start_ns;
      const found = await lastBefore(page, before);
      const right = refs.filter((ref) => ref.start_ns < before).pop();
      expect(found?.start_ns).toBe(right?.start_ns);
      expect(asked).toBeLessThan(40);
    }
  });

  it("is none before the first", async () => {
    expect(await lastBefore(page, refs[0]!.start_ns)).toBeUndefined();
  });

  it("ends where more hits than a page begin at one moment", async () => {
    const many = Array.from({ length: 3000 }, (_, id) => ({ ...refs[0]!, id, start_ns: 77 }));
    const found = await lastBefore(async (after) => (after <= 77 ? many.slice(0, 1000) : []), 500);
    expect(found?.start_ns).toBe(77);
  });
});

describe("matching names", () => {
  it("does what the server does", () => {
    expect(matcher("MM", false)?.("aten::addmm")).toBe(true);
    expect(matcher("aten::mm", true)?.("aten::mm_")).toBe(false);
    expect(matcher("/^aten::m+$/", false)?.("aten::mm")).toBe(true);
    expect(matcher("/(/", false)?.("(")).toBe(false);
    expect(matcher("", false)).toBeUndefined();
  });
});
