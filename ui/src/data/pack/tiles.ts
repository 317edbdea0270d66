// Tiles from the items of a report, in the wire format of the server.

import { BEYOND, BUCKETS_PER_TILE, FIRST_INSTANT, FROM_LEFT, INSTANT, PARTS_PER_BUCKET } from "../tiles.ts";
import { type TileItem, writeTiles } from "../write-tiles.ts";
import { firstFrom, type Items } from "./items.ts";

/** The tiles of these keys (`row.level.index`) as the server would send them. */
export function encodeTiles(rows: Map<number, Items>, keys: string[]): ArrayBuffer {
  return writeTiles(
    keys.map((key) => {
      const [row = 0, level = 0, index = 0] = key.split(".").map(Number);
      const items = rows.get(row);
      return { row, level, index, items: items ? bucketsOf(items, level, index) : [] };
    }),
  );
}

function bucketsOf(items: Items, level: number, index: number): TileItem[] {
  const bucket = 2 ** level;
  const origin = index * BUCKETS_PER_TILE * bucket;
  const limit = origin + BUCKETS_PER_TILE * bucket;
  const part = (t: number) =>
    Math.max(
      0,
      Math.min(BUCKETS_PER_TILE * PARTS_PER_BUCKET, Math.round(((t - origin) / bucket) * PARTS_PER_BUCKET)),
    );
  const out: TileItem[] = [];
  let at = firstFrom(items, origin);
  const make = (first: number, last: number, count: number, busyNs: number, longest: number): TileItem => {
    const start = items.start[first]!;
    const end = items.end[last]!;
    const instant = items.id[longest]! >= FIRST_INSTANT;
    const flags = (start < origin ? FROM_LEFT : 0) | (end > limit ? BEYOND : 0) | (instant ? INSTANT : 0);
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
