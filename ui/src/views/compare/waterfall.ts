// The way from the step before to the step after, cause by cause. Pure.

import type { Cause, CauseChange } from "../../data/wire.ts";
import { roundStep } from "../../parts/charts/ticks.ts";

/** A bar of the chart: a whole step, one cause, or several small ones together. */
export interface Bar {
  kind: "before" | "cause" | "others" | "after";
  /** None for a whole step. */
  causes: readonly Cause[];
  before_ns: number;
  after_ns: number;
  delta_ns: number;
  /** Where the bar begins and where it leads: the step's length so far. */
  from: number;
  to: number;
}

export interface Waterfall {
  bars: Bar[];
  /** The ends of the axis. Above 0 where the changes would be too small to see on one that starts at 0. */
  low: number;
  high: number;
}

/** Causes with a bar of their own. */
const MAX_CAUSES = 9;
/** What changed by less than this share of the largest change has none. */
const MIN_CHANGE_SHARE = 0.01;
/** How many times longer than all changes together a step may be before the axis is cut. */
const MAX_STEP_TO_CHANGE_RATIO = 4;

/** Every cause is in exactly one bar, so the bars between the steps add up to the change of the step. */
export function waterfall(before_ns: number, after_ns: number, causes: readonly CauseChange[]): Waterfall {
  const sorted = [...causes].sort((a, b) => Math.abs(b.delta_ns) - Math.abs(a.delta_ns));
  const least = Math.abs(sorted[0]?.delta_ns ?? 0) * MIN_CHANGE_SHARE;
  let own = sorted.filter((one) => one.delta_ns !== 0 && Math.abs(one.delta_ns) >= least);
  if (own.length > MAX_CAUSES) own = own.slice(0, MAX_CAUSES);
  let rest = sorted.slice(own.length);
  // One alone needs no other name than its own.
  if (rest.length === 1) {
    own = sorted;
    rest = [];
  }
  const bars: Bar[] = [whole("before", before_ns)];
  let at = before_ns;
  const add = (kind: Bar["kind"], of: readonly CauseChange[]) => {
    const sum = (pick: (one: CauseChange) => number) => of.reduce((total, one) => total + pick(one), 0);
    const delta_ns = sum((one) => one.delta_ns);
    bars.push({
      kind,
      causes: of.map((one) => one.cause),
      before_ns: sum((one) => one.before_ns),
      after_ns: sum((one) => one.after_ns),
      delta_ns,
      from: at,
      to: at + delta_ns,
    });
    at += delta_ns;
  };
  for (const one of own) add("cause", [one]);
  if (rest.length > 0) add("others", rest);
  bars.push(whole("after", after_ns));
  return { bars, ...axis(bars) };
}

function whole(kind: "before" | "after", ns: number): Bar {
  return {
    kind,
    causes: [],
    before_ns: kind === "before" ? ns : 0,
    after_ns: kind === "after" ? ns : 0,
    delta_ns: 0,
    from: 0,
    to: ns,
  };
}

function axis(bars: readonly Bar[]): { low: number; high: number } {
  const ends = bars.flatMap(({ from, to, kind }) =>
    kind === "cause" || kind === "others" ? [from, to] : [to],
  );
  const least = Math.min(...ends);
  const high = Math.max(...ends, 1);
  const changes = high - least;
  if (changes === 0 || least <= changes * MAX_STEP_TO_CHANGE_RATIO) return { low: Math.min(0, least), high };
  const step = roundStep(changes / 2);
  return { low: Math.max(0, Math.floor((least - changes / 2) / step) * step), high };
}

/** Where a length is on the axis, as a share of it. */
export function shareOf({ low, high }: Waterfall, ns: number): number {
  return high > low ? Math.max(0, Math.min(1, (ns - low) / (high - low))) : 0;
}
