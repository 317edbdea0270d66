// Which tiles show a stretch of a row: the right level where it is here, else the nearest that is, cut to size. Pure.

import type { TileCache } from "../../data/tile-cache.ts";
import type { Wanted } from "../../data/tile-store.ts";
import { PARTS_PER_BUCKET, type Tile, tileSpan } from "../../data/tiles.ts";

/** Up to so many levels above, single slices are placed within 1/16 of a pixel. */
const SHARP_LEVELS = 8;
const MAX_PIECES = 64;

/** Tiles side by side, each with the stretch of time it covers. Reused from row to row. */
export class TileCover {
  n = 0;
  readonly tiles: (Tile | undefined)[] = new Array(MAX_PIECES).fill(undefined);
  readonly from = new Float64Array(MAX_PIECES);
  readonly to = new Float64Array(MAX_PIECES);

  clear(): void {
    this.n = 0;
  }

  add(tile: Tile, from: number, to: number): void {
    const last = this.n - 1;
    if (last >= 0 && this.tiles[last] === tile && this.to[last] === from) {
      this.to[last] = to;
      return;
    }
    if (this.n === MAX_PIECES) return;
    this.tiles[this.n] = tile;
    this.from[this.n] = from;
    this.to[this.n] = to;
    this.n++;
  }
}

/** The part of a row that can hold something. */
export interface RowRange {
  id: number;
  first_ns: number;
  last_ns: number;
  count: number;
}

/** Finds the tiles of a row between two times; what is missing at this level goes to `missing`. */
export function cover(
  out: TileCover,
  cache: TileCache,
  row: RowRange,
  level: number,
  top: number,
  from: number,
  to: number,
  missing: Wanted,
): void {
  out.clear();
  if (row.count === 0) return;
  const span = tileSpan(level);
  const first = Math.floor(Math.max(from, row.first_ns, 0) / span);
  const last = Math.floor(Math.min(to, row.last_ns) / span);
  for (let index = first; index <= last; index++) {
    const start = index * span;
    const tile = cache.get(row.id, level, index);
    if (tile) out.add(tile, start, start + span);
    else fillIn(out, cache, row.id, level, top, index, start, start + span, missing);
  }
}

function fillIn(
  out: TileCover,
  cache: TileCache,
  row: number,
  level: number,
  top: number,
  index: number,
  start: number,
  end: number,
  missing: Wanted,
): void {
  const above = nearestAbove(cache, row, level, top, index);
  if (above && isResolved(above, level, start, end)) {
    out.add(above, start, end);
    return;
  }
  missing.add(row, level, index);
  if (above?.level === level + 1 || level === 0) {
    if (above) out.add(above, start, end);
    return;
  }
  // Just zoomed out: the finer tiles are still here, and truer than coarse ones.
  const middle = start + (end - start) / 2;
  const left = cache.get(row, level - 1, 2 * index) ?? above;
  const right = cache.get(row, level - 1, 2 * index + 1) ?? above;
  if (left) out.add(left, start, middle);
  if (right) out.add(right, middle, end);
}

function nearestAbove(cache: TileCache, row: number, level: number, top: number, index: number) {
  let at = index;
  for (let higher = level + 1; higher <= top; higher++) {
    at = Math.floor(at / 2);
    const tile = cache.get(row, higher, at);
    if (tile) return tile;
  }
  return undefined;
}

/** Whether a coarser tile shows each slice of this stretch by itself: a finer one would look the same. */
function isResolved(tile: Tile, level: number, from: number, to: number): boolean {
  if (tile.level - level > SHARP_LEVELS) return false;
  const scale = PARTS_PER_BUCKET / 2 ** tile.level;
  const begin = (from - tile.from) * scale;
  const stop = (to - tile.from) * scale;
  for (let i = tile.firstEndingAfter(begin); i < tile.n && tile.start(i) < stop; i++)
    if (tile.count(i) > 1) return false;
  return true;
}

/** The tiles beside those in sight and one level above: what the next move will need. */
export function lookAhead(
  cache: TileCache,
  row: RowRange,
  level: number,
  top: number,
  from: number,
  to: number,
  ahead: Wanted,
): void {
  if (row.count === 0) return;
  const span = tileSpan(level);
  const first = Math.floor(Math.max(from, row.first_ns, 0) / span);
  const last = Math.floor(Math.min(to, row.last_ns) / span);
  wantWhole(cache, row, top, ahead);
  wantOne(cache, row, level, top, first - 1, ahead);
  wantOne(cache, row, level, top, last + 1, ahead);
  if (level >= top) return;
  for (let index = Math.floor(first / 2); index <= Math.floor(last / 2); index++)
    wantOne(cache, row, level + 1, top, index, ahead);
}

/** The one tile that holds the whole row: with it there is always something to show. */
export function wantWhole(cache: TileCache, row: RowRange, top: number, ahead: Wanted): void {
  if (row.count > 0 && !cache.has(row.id, top, 0)) ahead.add(row.id, top, 0);
}

function wantOne(cache: TileCache, row: RowRange, level: number, top: number, index: number, ahead: Wanted) {
  const span = tileSpan(level);
  const start = index * span;
  if (index < 0 || start > row.last_ns || start + span <= row.first_ns) return;
  if (cache.has(row.id, level, index)) return;
  const above = nearestAbove(cache, row.id, level, top, index);
  if (above && isResolved(above, level, start, start + span)) return;
  ahead.add(row.id, level, index);
}
