// Tiles read from the wire by the words of the format alone, not by the page's own code; only its constants are shared.

import { BUCKETS_PER_TILE, MAGIC } from "../../src/data/tiles.ts";

export interface WireItem {
  start: number;
  end: number;
  id: number;
  name: number;
  count: number;
  busy: number;
  category: number;
  flags: number;
}

export interface WireTile {
  row: number;
  level: number;
  index: number;
  items: WireItem[];
}

export function readTiles(bytes: ArrayBuffer): WireTile[] {
  const view = new DataView(bytes);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("no tiles");
  const tiles: WireTile[] = [];
  let at = 8;
  for (let tile = 0; tile < view.getUint32(4, true); tile++) {
    const n = view.getUint32(at + 16, true);
    const items: WireItem[] = [];
    const words = at + 24;
    const small = words + 20 * n;
    for (let i = 0; i < n; i++) {
      const word = (column: number) => view.getUint32(words + 4 * (column * n + i), true);
      const byte = (column: number) => view.getUint8(small + column * n + i);
      items.push({
        start: word(0),
        end: word(1),
        id: word(2),
        name: word(3),
        count: word(4),
        busy: byte(0),
        category: byte(1),
        flags: byte(2),
      });
    }
    tiles.push({
      row: view.getUint32(at, true),
      level: view.getUint32(at + 4, true),
      index: view.getFloat64(at + 8, true),
      items,
    });
    at = Math.ceil((small + 3 * n) / 8) * 8;
  }
  if (at !== bytes.byteLength) throw new Error(`${bytes.byteLength - at} bytes after the last tile`);
  return tiles;
}

/** The keys of all tiles of a row at a level. */
export function keysOf(row: number, level: number, extent: number): string[] {
  const last = Math.floor(extent / (BUCKETS_PER_TILE * 2 ** level));
  return Array.from({ length: last + 1 }, (_, index) => `${row}.${level}.${index}`);
}

/** The lowest level at which one tile holds everything. */
export function wholeLevel(extent: number): number {
  let level = 0;
  while (BUCKETS_PER_TILE * 2 ** level <= extent) level++;
  return level;
}
