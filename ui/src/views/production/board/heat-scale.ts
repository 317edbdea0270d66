// Where latencies are on the heat map, and how dark a number of requests is. Pure.

import type { HeatMap } from "../../../data/production-types.ts";
import { logTicks } from "../../../parts/charts/ticks.ts";

export interface HeatScale {
  /** The first and the last bucket with a request. */
  first: number;
  last: number;
  low_ns: number;
  high_ns: number;
  /** Requests of the fullest cell. */
  most: number;
}

/** From the lowest latency that was seen to the highest. */
export function heatScale({ bounds_ns, counts }: HeatMap): HeatScale | undefined {
  let first = Number.POSITIVE_INFINITY;
  let last = -1;
  let most = 0;
  for (const column of counts)
    for (let bucket = 0; bucket < column.length; bucket++) {
      const many = column[bucket] ?? 0;
      if (many === 0) continue;
      first = Math.min(first, bucket);
      last = Math.max(last, bucket);
      most = Math.max(most, many);
    }
  const low_ns = Math.max(1, bounds_ns[first] ?? 1);
  const high_ns = bounds_ns[last + 1] ?? 0;
  return last >= 0 && high_ns > low_ns ? { first, last, low_ns, high_ns, most } : undefined;
}

/** How far up a latency is, from 0 to 1: equal factors are equal distances. */
export function heightOf(ns: number, { low_ns, high_ns }: HeatScale): number {
  if (!(ns > low_ns)) return 0;
  return Math.min(1, Math.log(ns / low_ns) / Math.log(high_ns / low_ns));
}

/** The latency at a height. */
export function latencyAt(height: number, { low_ns, high_ns }: HeatScale): number {
  return low_ns * (high_ns / low_ns) ** Math.max(0, Math.min(1, height));
}

/** The bucket that a latency falls into. */
export function bucketOf(ns: number, bounds_ns: readonly number[]): number {
  const at = bounds_ns.findIndex((bound) => bound > ns);
  return at < 0 ? bounds_ns.length - 2 : Math.max(0, at - 1);
}

/** How dark a cell is, from 0 to 1: a single request must be seen beside thousands. */
export function darkness(many: number, most: number): number {
  return many <= 0 || most <= 0 ? 0 : 0.12 + 0.88 * (Math.log1p(many) / Math.log1p(most));
}

/** Round latencies for the axis: powers of ten, with their halves and fifths where there is room. */
export function heatTicks({ low_ns, high_ns }: HeatScale, most: number): number[] {
  const all = logTicks(low_ns, high_ns).map((tick) => tick.value);
  const lead = (value: number) => Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
  const choices = [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]].map((leads) =>
    all.filter((value) => leads.includes(lead(value))),
  );
  return choices.find((ticks) => ticks.length <= most) ?? [];
}
