// Round numbers of events along the axis. Pure.

import { roundStep, type Tick } from "../../../parts/charts/ticks.ts";
import { count } from "../../../parts/format.ts";

/** About so many, all of them whole. */
export function entryTicks(from: number, to: number, about: number): Tick[] {
  const step = Math.max(1, roundStep((to - from) / about));
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && ticks.length < 100; at += step)
    ticks.push({ at, label: count(at) });
  return ticks;
}
