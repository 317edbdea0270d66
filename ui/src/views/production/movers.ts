// Which counters changed their level together with a latency: medians before and after, held to how much they wander. Pure.

import type { CounterUnit, ServiceCounter, ServiceDashboard } from "../../data/production-types.ts";

export interface Mover {
  counter: ServiceCounter;
  before: number;
  after: number;
  /** The change by how much the counter wanders. */
  score: number;
}

/** Points at either side at most: what was hours ago is another time of day. */
const MOST_POINTS = 30;
/** Fewer are no level. */
const MIN_POINTS = 3;
const MIN_SCORE = 3;
/** Changes below this are no news, however still the counter was: a share of its level, and in its unit. */
const MIN_SHARE = 0.05;
const MIN_CHANGE: Partial<Record<CounterUnit, number>> = {
  percent: 4,
  celsius: 2,
  watts: 5,
  megahertz: 20,
  count: 2,
};

/** The counters that moved at a minute, the clearest first; nothing where there are too few points to tell. */
export function moversAt(
  minute: number,
  of: Pick<ServiceDashboard, "minutes" | "counters">,
): Mover[] | undefined {
  const cut = of.minutes.findIndex((one) => one >= minute);
  if (of.counters.length === 0 || cut < MIN_POINTS || of.minutes.length - cut <= MIN_POINTS) return undefined;
  return of.counters
    .map((counter) => moved(counter, cut))
    .filter((one) => one !== undefined)
    .sort((a, b) => b.score - a.score);
}

function moved(counter: ServiceCounter, cut: number): Mover | undefined {
  const known = (from: number, to: number) => counter.values.slice(from, to).filter((value) => value !== null);
  const left = known(Math.max(0, cut - MOST_POINTS), cut);
  // The point of the change holds some of both.
  const right = known(cut + 1, cut + 1 + MOST_POINTS);
  if (left.length < MIN_POINTS || right.length < MIN_POINTS) return undefined;
  const before = median(left);
  const after = median(right);
  const change = Math.abs(after - before);
  const least = Math.max(
    MIN_CHANGE[counter.unit] ?? 0,
    MIN_SHARE * Math.max(Math.abs(before), Math.abs(after)),
  );
  if (change === 0 || change < least) return undefined;
  const score = change / Math.max(spread(left, before), spread(right, after), least / 4);
  return score >= MIN_SCORE ? { counter, before, after, score } : undefined;
}

/** How far values are from their median, as a standard deviation would say it. */
function spread(values: readonly number[], middle: number): number {
  return 1.4826 * median(values.map((value) => Math.abs(value - middle)));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[at]! : ((sorted[at - 1] ?? 0) + (sorted[at] ?? 0)) / 2;
}
