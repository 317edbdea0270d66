// The stretch of time in sight, and how gestures change it. Pure.

import type { Layout } from "../../data/types.ts";

export interface Span {
  from: number;
  to: number;
}

/** What can be scrolled to: all of a trace so long, or what another timeline beside it needs. */
export type Extent = number | Span;

/** No closer than this: nanoseconds are whole. */
const SHORTEST = 20;
/** Room left at both ends of the whole trace. */
const MARGIN = 0.01;

/** The whole trace with a little air. */
export function whole(extent: Extent): Span {
  const { from, to } = typeof extent === "number" ? { from: 0, to: extent } : extent;
  const air = Math.max((to - from) * MARGIN, 1);
  return { from: from - air, to: to + air };
}

/** What a trace is opened on: the slices; instants, which may lie far outside, can be scrolled to. */
export function home({ extent_ns, work_ns: [from, to] }: Pick<Layout, "extent_ns" | "work_ns">): Span {
  const air = Math.max((to - from) * MARGIN, 1);
  const all = whole(extent_ns);
  return to > from ? { from: Math.max(from - air, all.from), to: Math.min(to + air, all.to) } : all;
}

/** The same length of time, or the whole trace, moved to where there is something to see. */
export function clamp(span: Span, extent: Extent): Span {
  const all = whole(extent);
  const most = all.to - all.from;
  const length = Math.max(Math.min(span.to - span.from, most), Math.min(SHORTEST, most));
  const middle = (span.from + span.to) / 2;
  const half = length / 2;
  const from = Math.min(Math.max(middle - half, all.from), all.to - length);
  return { from, to: from + length };
}

/** `factor` times as much time in sight; what is at `share` of the width stays there. */
export function zoomAt(span: Span, factor: number, share: number, extent: Extent): Span {
  const all = whole(extent);
  const most = all.to - all.from;
  const old = span.to - span.from;
  const length = Math.max(Math.min(old * factor, most), Math.min(SHORTEST, most));
  const anchor = span.from + share * old;
  const from = anchor - share * length;
  return clamp({ from, to: from + length }, extent);
}

export function pan(span: Span, by: number, extent: Extent): Span {
  return clamp({ from: span.from + by, to: span.to + by }, extent);
}

/** A stretch with air around it. */
export function around(span: Span, extent: Extent, air = 0.15): Span {
  const length = Math.max(span.to - span.from, SHORTEST);
  return clamp({ from: span.from - air * length, to: span.to + air * length }, extent);
}

/** Moves so that `middle` is in the center. */
export function center(span: Span, middle: number, extent: Extent): Span {
  const half = (span.to - span.from) / 2;
  return clamp({ from: middle - half, to: middle + half }, extent);
}

/** Between two windows: lengths change by ratio, so that zooming looks even. */
export function between(a: Span, b: Span, share: number): Span {
  const one = a.to - a.from;
  const other = b.to - b.from;
  const length = one * (other / one) ** share;
  // Where the length changes, the middle follows it, so that the target grows steadily instead of flying past.
  const way = Math.abs(other - one) < 1e-9 * one ? share : (length - one) / (other - one);
  const middle = (a.from + a.to) / 2 + ((b.from + b.to) / 2 - (a.from + a.to) / 2) * way;
  return { from: middle - length / 2, to: middle + length / 2 };
}
