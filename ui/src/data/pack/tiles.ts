// Tiles from the items of a report, in the wire format of the server.

import { firstFrom, type Items } from "./items.ts";

const MAGIC = 0x53544c31;
const BUCKETS = 512;
const PARTS = 4096;
const INSTANT = 0x80000000;

interface Bucket {
  start: number;
  end: number;
  id: number;
  name: number;
  count: number;
  busy: number;
  category: number;
  flags: number;
}

/** The tiles of these keys (`row.level.index`) as the server would send them. */
export function encodeTiles(rows: Map<number, Items>, keys: string[]): ArrayBuffer {
  const tiles = keys.map((key) => {
    const [row = 0, level = 0, index = 0] = key.split(".").map(Number);
    const items = rows.get(row);
    return { row, level, index, buckets: items ? bucketsOf(items, level, index) : [] };
  });
  const size = tiles.reduce((sum, tile) => sum + tileBytes(tile.buckets.length), 8);
  const out = new ArrayBuffer(size);
  const view = new DataView(out);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, tiles.length, true);
  let at = 8;
  for (const tile of tiles) {
    const n = tile.buckets.length;
    view.setUint32(at, tile.row, true);
    view.setUint32(at + 4, tile.level, true);
    view.setFloat64(at + 8, tile.index, true);
    view.setUint32(at + 16, n, true);
    const columns = new Uint32Array(out, at + 24, 5 * n);
    const small = new Uint8Array(out, at + 24 + 20 * n, 3 * n);
    tile.buckets.forEach((bucket, i) => {
      columns[i] = bucket.start;
      columns[n + i] = bucket.end;
      columns[2 * n + i] = bucket.id;
      columns[3 * n + i] = bucket.name;
      columns[4 * n + i] = bucket.count;
      small[i] = bucket.busy;
      small[n + i] = bucket.category;
      small[2 * n + i] = bucket.flags;
    });
    at += tileBytes(n);
  }
  return out;
}

function tileBytes(n: number): number {
  return 24 + Math.ceil((23 * n) / 8) * 8;
}

function bucketsOf(items: Items, level: number, index: number): Bucket[] {
  const bucket = 2 ** level;
  const origin = index * BUCKETS * bucket;
  const limit = origin + BUCKETS * bucket;
  const part = (t: number) =>
    Math.max(0, Math.min(BUCKETS * PARTS, Math.round(((t - origin) / bucket) * PARTS)));
  const out: Bucket[] = [];
  let at = firstFrom(items, origin);
  const make = (first: number, last: number, count: number, busyNs: number, longest: number): Bucket => {
    const start = items.start[first]!;
    const end = items.end[last]!;
    const instant = items.id[longest]! >= INSTANT;
    const flags = (start < origin ? 1 : 0) | (end > limit ? 2 : 0) | (instant ? 4 : 0);
    const length = end - start;
    return {
      start: part(start),
      end: part(end),
      id: items.id[longest]!,
      name: items.name[longest]!,
      count,
      busy: length > 0 ? Math.min(255, Math.round((busyNs / length) * 255)) : 255,
      category: items.category[longest]!,
      flags,
    };
  };
  // What reaches in from the left is drawn here but counted where it starts.
  if (at > 0 && items.end[at - 1]! > origin) out.push(make(at - 1, at - 1, 0, busyOf(items, at - 1), at - 1));
  while (at < items.n && items.start[at]! < limit) {
    const end = origin + (Math.floor((items.start[at]! - origin) / bucket) + 1) * bucket;
    const first = at;
    let longest = at;
    let count = 0;
    let busy = 0;
    for (; at < items.n && items.start[at]! < end; at++) {
      count += items.count[at]!;
      busy += busyOf(items, at);
      if (items.end[at]! - items.start[at]! > items.end[longest]! - items.start[longest]!) longest = at;
    }
    out.push(make(first, at - 1, count, busy, longest));
  }
  return out;
}

function busyOf(items: Items, at: number): number {
  return ((items.end[at]! - items.start[at]!) * items.busy[at]!) / 255;
}
