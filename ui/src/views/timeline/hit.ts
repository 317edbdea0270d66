// What lies under the pointer, and what comes before or after a slice in its row.

import type { TileStore } from "../../data/tile-store.ts";
import {
  BEYOND,
  BUCKETS_PER_TILE,
  FROM_LEFT,
  INSTANT,
  PARTS_PER_BUCKET,
  type Tile,
  tileSpan,
} from "../../data/tiles.ts";
import type { TileCover } from "./tile-cover.ts";

export interface Hit {
  id: number;
  name: number;
  category: number;
  row: number;
  /** As far as the tiles at hand know. */
  from: number;
  to: number;
  /** Slices here; more than one where they share a bucket. */
  count: number;
  instant: boolean;
  /** Whether both ends are known. */
  exact: boolean;
  /** How finely, in ns. */
  grain: number;
}

/** The item at a time, or the nearest within `reach` ns. */
export function itemAt(pieces: TileCover, time: number, reach: number): Hit | undefined {
  let best: Hit | undefined;
  let distance = reach;
  for (let p = 0; p < pieces.n; p++) {
    if (pieces.to[p]! < time - reach || pieces.from[p]! > time + reach) continue;
    const tile = pieces.tiles[p]!;
    const scale = PARTS_PER_BUCKET / 2 ** tile.level;
    const first = tile.firstEndingAfter((Math.max(time - reach, pieces.from[p]!) - tile.from) * scale);
    for (let i = first; i < tile.n && tile.startNs(i) <= time + reach; i++) {
      const off = Math.max(tile.startNs(i) - time, time - tile.endNs(i), 0);
      if (off > distance || (best && off >= distance)) continue;
      distance = off;
      best = hitOf(tile, i);
      if (off === 0) return widen(best, pieces);
    }
  }
  return best && widen(best, pieces);
}

function hitOf(tile: Tile, i: number): Hit {
  const flags = tile.flags(i);
  return {
    id: tile.id(i),
    name: tile.name(i),
    category: tile.category(i),
    row: tile.row,
    from: tile.startNs(i),
    to: tile.endNs(i),
    count: Math.max(1, tile.count(i)),
    instant: (flags & INSTANT) !== 0,
    exact: (flags & (FROM_LEFT | BEYOND)) === 0,
    grain: 2 ** tile.level / PARTS_PER_BUCKET,
  };
}

/** Joins the pieces of a slice that lies across several tiles. */
function widen(hit: Hit, pieces: TileCover): Hit {
  if (hit.exact) return hit;
  let starts = false;
  let ends = false;
  for (let p = 0; p < pieces.n; p++) {
    const tile = pieces.tiles[p]!;
    for (const i of [0, tile.n - 1]) {
      if (i < 0 || tile.id(i) !== hit.id) continue;
      hit.from = Math.min(hit.from, tile.startNs(i));
      hit.to = Math.max(hit.to, tile.endNs(i));
      if ((tile.flags(i) & FROM_LEFT) === 0) starts = true;
      if ((tile.flags(i) & BEYOND) === 0) ends = true;
    }
  }
  hit.exact = starts && ends;
  return hit;
}

/** Where to look from: a slice and its start. */
export interface Origin {
  row: number;
  id: number;
  start: number;
}

/** The slice after this one in its row, or the one before. */
export async function neighbor(
  store: Pick<TileStore, "load">,
  top: number,
  origin: Origin,
  forward: boolean,
  signal: AbortSignal,
): Promise<number | undefined> {
  const within = async (level: number, index: number): Promise<number | undefined> => {
    const tile = await store.load(origin.row, level, index, signal);
    const bucket = 2 ** level;
    for (let step = 0; step < tile.n; step++) {
      const i = forward ? step : tile.n - 1 - step;
      const count = tile.count(i);
      if (count === 0) continue;
      const from =
        tile.from + Math.min(BUCKETS_PER_TILE - 1, Math.floor(tile.start(i) / PARTS_PER_BUCKET)) * bucket;
      if (forward ? from + bucket <= origin.start : from > origin.start) continue;
      if (count > 1 && level > 0) {
        // A tile this far down holds exactly this bucket.
        const lower = Math.max(0, level - LEVELS_IN_A_TILE);
        const found = await within(lower, Math.floor(from / tileSpan(lower)));
        if (found !== undefined) return found;
      } else if (liesBeyond(tile, i, origin, forward)) return tile.id(i);
    }
    return undefined;
  };
  return within(top, 0);
}

const LEVELS_IN_A_TILE = Math.log2(BUCKETS_PER_TILE);

function liesBeyond(tile: Tile, i: number, origin: Origin, forward: boolean): boolean {
  const id = tile.id(i);
  if (id === origin.id) return false;
  const off = tile.startNs(i) - origin.start;
  // Starts are rounded to 1/4096 of a bucket; slices of a row are numbered in order.
  if (Math.abs(off) <= 2 ** tile.level / PARTS_PER_BUCKET) return forward ? id > origin.id : id < origin.id;
  return forward ? off > 0 : off < 0;
}
