// The stretch of time in sight, and how gestures change it. Pure.

import type { Layout } from "../../data/types.ts";
import { clampSpan, type Span, zoomSpan } from "../../parts/span.ts";

export type { Span };

/** What can be scrolled to: all of a trace so long, or what another timeline beside it needs. */
export type Extent = number | Span;

/** No closer than this: nanoseconds are whole. */
const MIN_SPAN_NS = 20;
/** The share of a span that is left free at both of its ends. */
const MARGIN_SHARE = 0.01;

function padded({ from, to }: Span): Span {
  const margin = Math.max((to - from) * MARGIN_SHARE, 1);
  return { from: from - margin, to: to + margin };
}

/** The whole trace with a margin. */
export function whole(extent: Extent): Span {
  return padded(typeof extent === "number" ? { from: 0, to: extent } : extent);
}

/** What a trace is opened on: the slices; instants, which may lie far outside, can be scrolled to. */
export function home({ extent_ns, work_ns: [from, to] }: Pick<Layout, "extent_ns" | "work_ns">): Span {
  const all = whole(extent_ns);
  const work = padded({ from, to });
  return to > from ? { from: Math.max(work.from, all.from), to: Math.min(work.to, all.to) } : all;
}

/** The same length of time, or the whole trace, moved to where there is something to see. */
export function clamp(span: Span, extent: Extent): Span {
  return clampSpan(span, whole(extent), MIN_SPAN_NS);
}

/** `factor` times as much time in sight; what is at `share` of the width stays there. */
export function zoomAt(span: Span, factor: number, share: number, extent: Extent): Span {
  return zoomSpan(span, factor, share, whole(extent), MIN_SPAN_NS);
}

export function pan(span: Span, by: number, extent: Extent): Span {
  return clamp({ from: span.from + by, to: span.to + by }, extent);
}

/** A span with a margin around it. */
export function around(span: Span, extent: Extent, margin = 0.15): Span {
  const length = Math.max(span.to - span.from, MIN_SPAN_NS);
  return clamp({ from: span.from - margin * length, to: span.to + margin * length }, extent);
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
