// Counters as step areas. Pure.

import type { Counter } from "../../data/types.ts";
import { pack, parseColor } from "../../draw/color.ts";
import { areaCell, type DrawList } from "../../draw/list.ts";
import type { Palette } from "../../draw/palette.ts";
import type { Span } from "./visible-span.ts";

/** Fills the newest strip, an area, with a counter's lowest and highest values. */
export function counterCells(list: DrawList, counter: Counter, view: Span, width: number): void {
  const perNs = width / (view.to - view.from);
  const { t, lo, hi, max } = counter;
  for (let i = Math.max(0, firstAfter(t, view.from) - 1); i < t.length; i++) {
    const left = Math.max(0, (t[i]! - view.from) * perNs);
    if (left >= width) break;
    const next = i + 1 < t.length ? t[i + 1]! : view.to;
    const right = Math.min(width, (next - view.from) * perNs);
    if (right <= left || max <= 0) continue;
    list.fill(left, right, areaCell(lo[i]! / max, hi[i]! / max));
  }
}

/** The first position whose value is greater. */
export function firstAfter(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A counter's value at a time: lowest and highest within its stretch. */
export function counterAt(counter: Counter, time: number): { lo: number; hi: number } | undefined {
  const at = firstAfter(counter.t, time) - 1;
  if (at < 0) return undefined;
  return { lo: counter.lo[at] ?? 0, hi: counter.hi[at] ?? 0 };
}

/** The color of counters. */
export function counterColor(palette: Palette): number {
  return pack(parseColor(palette.css.accent));
}
