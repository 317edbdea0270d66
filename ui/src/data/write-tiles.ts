// Tiles in the wire format of the server: what a report sends itself, and what tests feed to the page.

import { HEAD_BYTES, MAGIC, TILE_HEAD_BYTES, tileBytes } from "./tiles.ts";

/** One bucket with something in it, as columns of the wire hold it. */
export interface TileItem {
  start: number;
  end: number;
  id: number;
  name: number;
  count: number;
  busy: number;
  category: number;
  flags: number;
}

export interface TileItems {
  row: number;
  level: number;
  index: number;
  items: readonly TileItem[];
}

export function writeTiles(tiles: readonly TileItems[]): ArrayBuffer {
  const out = new ArrayBuffer(
    tiles.reduce((sum, tile) => sum + TILE_HEAD_BYTES + tileBytes(tile.items.length), HEAD_BYTES),
  );
  const view = new DataView(out);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, tiles.length, true);
  let at = HEAD_BYTES;
  for (const { row, level, index, items } of tiles) {
    const n = items.length;
    view.setUint32(at, row, true);
    view.setUint32(at + 4, level, true);
    view.setFloat64(at + 8, index, true);
    view.setUint32(at + 16, n, true);
    at += TILE_HEAD_BYTES;
    const words = new Uint32Array(out, at, 5 * n);
    const bytes = new Uint8Array(out, at + 20 * n, 3 * n);
    items.forEach((item, i) => {
      words[i] = item.start;
      words[n + i] = item.end;
      words[2 * n + i] = item.id;
      words[3 * n + i] = item.name;
      words[4 * n + i] = item.count;
      bytes[i] = item.busy;
      bytes[n + i] = item.category;
      bytes[2 * n + i] = item.flags;
    });
    at += tileBytes(n);
  }
  return out;
}
