// The critical path: which slices lie on it, and the lane that shows its pieces one after the other.

import { SHADE_COUNT } from "../../data/name-store.ts";
import type { Stretch } from "../../data/types.ts";
import type { DrawList } from "../../draw/list.ts";
import { type Palette, sliceCell, slot, wantsDarkText } from "../../draw/palette.ts";
import { firstAfter } from "./counter-cells.ts";
import { LABEL_WIDTH } from "./row-cells.ts";
import type { Span } from "./visible-span.ts";

export interface CriticalPath {
  names: string[];
  classes: string[];
  starts: Float64Array;
  ends: Float64Array;
  slices: Float64Array;
  /** Pieces that are drawn as one. */
  counts: Uint32Array;
  /** The pieces of each slice on the path, in order. */
  onPath: ReadonlyMap<number, readonly number[]>;
}

/** This piece has no slice. */
export const NO_SLICE = -1;

/** Classes of the path by the category whose color they take. */
const CATEGORY: Record<string, number> = {
  host: 0,
  launch: 3,
  kernel: 5,
  copy: 10,
  communication: 9,
  synchronization: 4,
  data_loading: 14,
  idle: 12,
};

export function makePath(pieces: readonly Stretch[]): CriticalPath {
  const sorted = [...pieces].sort((a, b) => a.start_ns - b.start_ns);
  const slices = Float64Array.from(sorted, (piece) => piece.slice ?? NO_SLICE);
  const onPath = new Map<number, number[]>();
  slices.forEach((slice, i) => {
    if (slice === NO_SLICE) return;
    const pieces = onPath.get(slice);
    if (pieces) pieces.push(i);
    else onPath.set(slice, [i]);
  });
  return {
    names: sorted.map((piece) => piece.name),
    classes: sorted.map((piece) => piece.class),
    starts: Float64Array.from(sorted, (piece) => piece.start_ns),
    ends: Float64Array.from(sorted, (piece) => piece.start_ns + piece.dur_ns),
    slices,
    counts: Uint32Array.from(sorted, (piece) => piece.count),
    onPath,
  };
}

/** Fills the newest strip. Pieces within one pixel share it; the longest of them gives the color. */
export function pathCells(
  list: DrawList,
  path: CriticalPath,
  view: Span,
  width: number,
  palette: Palette,
): void {
  const perNs = width / (view.to - view.from);
  let column = -1;
  let longest = 0;
  for (let i = Math.max(0, firstAfter(path.starts, view.from) - 1); i < path.starts.length; i++) {
    const left = Math.max(0, (path.starts[i]! - view.from) * perNs);
    if (left >= width) break;
    const right = Math.min(width, (path.ends[i]! - view.from) * perNs);
    if (right < 0) continue;
    const at = Math.floor(left);
    if (right - left < 1 && at === column && right - left <= longest) continue;
    column = right - left < 1 ? at : -1;
    longest = right - left;
    if (column < 0) list.fill(Math.round(left), Math.round(right), pieceCell(path, i, palette));
    else list.fill(at, at + 1, pieceCell(path, i, palette));
  }
}

/** Pieces wide enough for a name: where they lie, and whether dark text is read on them. */
export function pathNames(
  path: CriticalPath,
  view: Span,
  width: number,
  palette: Palette,
  draw: (name: string, left: number, right: number, dark: boolean) => void,
): void {
  const perNs = width / (view.to - view.from);
  for (let i = Math.max(0, firstAfter(path.starts, view.from) - 1); i < path.starts.length; i++) {
    const left = Math.max(0, (path.starts[i]! - view.from) * perNs);
    if (left >= width) break;
    const right = Math.min(width, (path.ends[i]! - view.from) * perNs);
    if (right - left >= LABEL_WIDTH)
      draw(path.names[i] ?? "", left, right, wantsDarkText(palette, pieceSlot(path, i), 1));
  }
}

function pieceSlot(path: CriticalPath, i: number): number {
  return slot(CATEGORY[path.classes[i] ?? ""] ?? 15, SHADE_COUNT >> 1);
}

function pieceCell(path: CriticalPath, i: number, palette: Palette): number {
  return sliceCell(palette, pieceSlot(path, i), 1);
}

/** The piece at a time. */
export function pieceAt(path: CriticalPath, time: number): number | undefined {
  const at = firstAfter(path.starts, time) - 1;
  return at >= 0 && path.ends[at]! >= time ? at : undefined;
}
