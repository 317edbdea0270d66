// Where the ticks of the ruler are. Pure.

import { roundStep } from "../../parts/charts/ticks.ts";

/** Ticks should be at least this far apart. */
const MIN_TICK_GAP_PX = 110;

export interface Ticks {
  step: number;
  first: number;
  /** Lines between two ticks. */
  minor: number;
}

/** Round times, so that neighbors are at least `MIN_TICK_GAP_PX` pixels apart. */
export function ticksFor(from: number, to: number, width: number): Ticks {
  const step = roundStep(Math.max(1, ((to - from) / Math.max(1, width)) * MIN_TICK_GAP_PX));
  const isTwo = Math.round(step / 10 ** Math.floor(Math.log10(step) + 1e-9)) === 2;
  return { step, first: Math.ceil(from / step) * step, minor: isTwo ? 4 : 5 };
}
