// Two timelines that show the same stretch of their steps: whichever moves, the other follows. Pure but for what it moves.

import type { Layout, StepInfo } from "../../data/types.ts";
import type { Extent, Span } from "../timeline/visible-span.ts";

/** What is needed of a timeline's model. */
export interface Movable {
  view: Span;
  bounds: Extent;
  readonly extent: number;
  onMove(listener: () => void): () => void;
}

/** Air beside the steps, as a share of the longer. */
const MARGIN_SHARE = 0.02;

/** The steps of a run; the whole of it where there are none. */
export function stepsOf({ steps, work_ns: [from, to] }: Pick<Layout, "steps" | "work_ns">): StepInfo[] {
  if (steps.length > 0) return steps;
  return [{ step: -1, name: "whole trace", start_ns: from, end_ns: Math.max(to, from + 1) }];
}

/** The step in the middle by length, of an even number the shorter of the two. */
export function medianStep(steps: readonly StepInfo[]): StepInfo | undefined {
  const sorted = [...steps].sort((a, b) => lengthOf(a) - lengthOf(b) || a.start_ns - b.start_ns);
  return sorted[Math.ceil(sorted.length / 2) - 1];
}

export function lengthOf({ start_ns, end_ns }: StepInfo): number {
  return end_ns - start_ns;
}

/** A window around both steps, counted from where they begin. */
export function windowOf(a: StepInfo, b: StepInfo): Span {
  const longer = Math.max(lengthOf(a), lengthOf(b), 1);
  return { from: -MARGIN_SHARE * longer, to: (1 + MARGIN_SHARE) * longer };
}

/**
 * Makes the two move together. Windows count from each step's start, and both can be moved to all that either has, so the
 * scale is the same at every moment. Returns how to part them.
 */
export function link(a: Movable, b: Movable, starts: readonly [number, number]): () => void {
  const [startA, startB] = starts;
  const low = Math.min(-startA, -startB);
  const high = Math.max(a.extent - startA, b.extent - startB);
  a.bounds = { from: low + startA, to: high + startA };
  b.bounds = { from: low + startB, to: high + startB };
  let following = false;
  const follow = (one: Movable, other: Movable, shift: number) =>
    one.onMove(() => {
      if (following) return;
      following = true;
      other.view = { from: one.view.from + shift, to: one.view.to + shift };
      following = false;
    });
  const stops = [follow(a, b, startB - startA), follow(b, a, startA - startB)];
  return () => {
    for (const stop of stops) stop();
  };
}

/** A window as the URL holds it, and back; nothing where it makes no sense. */
export function windowText({ from, to }: Span): string {
  return `${Math.round(from)}~${Math.round(to)}`;
}

export function parseWindow(text: string | undefined): Span | undefined {
  const [from, to] = (text ?? "").split("~").map(Number);
  const isSpan = from !== undefined && to !== undefined && Number.isFinite(from) && to > from;
  return isSpan && Number.isFinite(to) ? { from, to } : undefined;
}
