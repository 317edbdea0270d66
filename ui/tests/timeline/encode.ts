// A second, slow writing of what the server does: slices to the items of tiles. Tests compare the fast code with it.

import { BEYOND, BUCKETS_PER_TILE, FROM_LEFT, PARTS_PER_BUCKET, tileSpan } from "../../src/data/tiles.ts";
import type { TileItem } from "../../src/data/write-tiles.ts";

export interface Slice {
  start: number;
  end: number;
  id: number;
  name: number;
  category: number;
}

/** The items of one tile. Slices must be sorted and must not overlap. */
export function itemsOf(slices: readonly Slice[], level: number, index: number): TileItem[] {
  const from = index * tileSpan(level);
  const to = from + tileSpan(level);
  const bucket = 2 ** level;
  const fine = (time: number) =>
    Math.max(
      0,
      Math.min(BUCKETS_PER_TILE * PARTS_PER_BUCKET, Math.floor(((time - from) / bucket) * PARTS_PER_BUCKET)),
    );
  const items: TileItem[] = [];
  const across = slices.find((slice) => slice.start < from && slice.end > from);
  if (across) items.push(item([across], 0, FROM_LEFT | (across.end > to ? BEYOND : 0), fine));
  const buckets = new Map<number, Slice[]>();
  for (const slice of slices) {
    if (slice.start < from || slice.start >= to) continue;
    const at = Math.floor((slice.start - from) / bucket);
    buckets.set(at, [...(buckets.get(at) ?? []), slice]);
  }
  for (const [, group] of [...buckets].sort((a, b) => a[0] - b[0]))
    items.push(item(group, group.length, group[group.length - 1]!.end > to ? BEYOND : 0, fine));
  return items;
}

function item(group: Slice[], count: number, flags: number, fine: (time: number) => number): TileItem {
  const longest = group.reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
  const first = group[0]!.start;
  const last = group[group.length - 1]!.end;
  const covered = group.reduce((sum, slice) => sum + slice.end - slice.start, 0);
  const busy = last > first ? Math.round((255 * covered) / (last - first)) : 255;
  const { id, name, category } = longest;
  return { start: fine(first), end: fine(last), id, name, count, busy, category, flags };
}

/** Numbers from a seed, so that a failure can be repeated. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A row of slices that do not overlap: gaps and lengths of very different sizes. */
export function randomRow(seed: number, n: number): Slice[] {
  const next = random(seed);
  const slices: Slice[] = [];
  let time = 0;
  for (let id = 0; id < n; id++) {
    time += Math.floor(next() < 0.3 ? 0 : 10 ** (next() * 4));
    const length = next() < 0.05 ? 0 : Math.floor(10 ** (next() * 5));
    const name = Math.floor(next() * 20);
    slices.push({ start: time, end: time + length, id, name, category: name % 16 });
    time += length;
  }
  return slices;
}
