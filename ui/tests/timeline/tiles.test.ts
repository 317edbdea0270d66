import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TileCache } from "../../src/data/tile-cache.ts";
import { decodeTiles, levelFor, Tile, tileSpan, topLevel } from "../../src/data/tiles.ts";
import { type TileItem, writeTiles } from "../../src/data/write-tiles.ts";
import { itemsOf, randomRow } from "./encode.ts";

function columns(tile: Tile): TileItem[] {
  return Array.from({ length: tile.n }, (_, i) => ({
    start: tile.start(i),
    end: tile.end(i),
    id: tile.id(i),
    name: tile.name(i),
    count: tile.count(i),
    busy: tile.busy(i),
    category: tile.category(i),
    flags: tile.flags(i),
  }));
}

describe("the wire", () => {
  it("gives back what was written, whatever the number of items", () => {
    const row = randomRow(1, 400);
    const tiles = [0, 3, 6, 9, 14].flatMap((level) =>
      [0, 1, 2].map((index) => ({ row: 7, level, index, items: itemsOf(row, level, index) })),
    );
    const read = decodeTiles(writeTiles(tiles));
    expect(read).toHaveLength(tiles.length);
    read.forEach((tile, i) => {
      expect([tile.row, tile.level, tile.index]).toEqual([tiles[i]!.row, tiles[i]!.level, tiles[i]!.index]);
      expect(columns(tile)).toEqual(tiles[i]!.items);
    });
  });

  it("keeps indices beyond 2^32 and instants' numbers", () => {
    const item = { start: 1, end: 1, id: 0x80000005, name: 2, count: 1, busy: 255, category: 15, flags: 4 };
    const [tile] = decodeTiles(writeTiles([{ row: 1, level: 0, index: 2 ** 40 + 1, items: [item] }]));
    expect(tile?.index).toBe(2 ** 40 + 1);
    expect(tile?.id(0)).toBe(0x80000005);
  });

  it("refuses what it cannot read", () => {
    expect(() => decodeTiles(new ArrayBuffer(4))).toThrow("not tiles");
    const short = writeTiles([{ row: 0, level: 0, index: 0, items: itemsOf(randomRow(2, 50), 10, 0) }]);
    expect(() => decodeTiles(short.slice(0, 60))).toThrow("too early");
  });

  const golden = new URL("../golden/tiles.bin", import.meta.url);
  it("reads what the server writes", () => {
    const bytes = readFileSync(golden);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const said = JSON.parse(readFileSync(new URL("../golden/tiles.json", import.meta.url), "utf8"));
    const tiles = decodeTiles(buffer);
    expect(tiles.length).toBeGreaterThan(0);
    const read = tiles.map((tile) => ({
      row: tile.row,
      level: tile.level,
      index: tile.index,
      ...Object.fromEntries(
        (["start", "end", "id", "name", "count", "busy", "category", "flags"] as const).map((column) => [
          column,
          Array.from({ length: tile.n }, (_, i) => tile[column](i)),
        ]),
      ),
    }));
    expect(read).toEqual(Array.isArray(said) ? said : said.tiles);
  });
});

describe("levels", () => {
  it("has buckets of half a pixel to a pixel", () => {
    for (const perPixel of [1, 1.5, 2, 3.99, 1000, 123_456_789]) {
      const bucket = 2 ** levelFor(perPixel, 44);
      expect(bucket).toBeLessThanOrEqual(perPixel);
      expect(bucket).toBeGreaterThan(perPixel / 2);
    }
  });

  it("stays between 0 and the top", () => {
    expect(levelFor(0.01, 20)).toBe(0);
    expect(levelFor(1e15, 20)).toBe(20);
  });

  it("has one tile at the top, its last moment included", () => {
    for (const extent of [0, 1, 511, 512, 513, 1e9, 2 ** 40]) {
      const top = topLevel(extent);
      expect(Math.floor(extent / tileSpan(top))).toBe(0);
      if (top > 0) expect(Math.floor(extent / tileSpan(top - 1))).toBeGreaterThan(0);
    }
  });
});

describe("finding items", () => {
  it("finds the first that ends after a place, as a search from the left does", () => {
    const [tile] = decodeTiles(
      writeTiles([{ row: 0, level: 8, index: 0, items: itemsOf(randomRow(3, 300), 8, 0) }]),
    );
    for (let fine = 0; fine < 512 * 4096; fine += 7919) {
      const slow = columns(tile!).findIndex((i) => i.end > fine || (i.end === fine && i.start >= fine));
      expect(tile!.firstEndingAfter(fine)).toBe(slow < 0 ? tile!.n : slow);
    }
  });
});

describe("the cache", () => {
  const empty = (row: number, index: number) => new Tile(row, 3, index, 0, new ArrayBuffer(0));

  it("forgets the longest unused first and stays within its bound", () => {
    const cost = empty(0, 0).cost;
    const cache = new TileCache(3 * cost);
    for (const index of [1, 2, 3]) cache.put(empty(0, index));
    cache.get(0, 3, 1);
    cache.put(empty(0, 4));
    expect([1, 2, 3, 4].map((index) => cache.has(0, 3, index))).toEqual([true, false, true, true]);
    expect(cache.bytes).toBeLessThanOrEqual(3 * cost);
    expect(cache.size).toBe(3);
  });

  it("counts a tile put twice once", () => {
    const cache = new TileCache(1e6);
    cache.put(empty(0, 1));
    cache.put(empty(0, 1));
    expect(cache.size).toBe(1);
    expect(cache.bytes).toBe(empty(0, 1).cost);
    expect(cache.get(0, 3, 1)?.index).toBe(1);
  });

  it("stays consistent under any use", () => {
    const cost = empty(0, 0).cost;
    const cache = new TileCache(10 * cost);
    let seed = 1;
    for (let i = 0; i < 5000; i++) {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      const row = (seed >>> 8) % 5;
      const index = (seed >>> 16) % 20;
      if (seed % 3 === 0) cache.get(row, 3, index);
      else cache.put(empty(row, index));
      expect(cache.bytes).toBe(cache.size * cost);
      expect(cache.size).toBeLessThanOrEqual(10);
    }
  });
});
