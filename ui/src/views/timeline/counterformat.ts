// A counter's values as words.

import type { Counter } from "../../data/types.ts";
import { bytes, count, digits, percent } from "../../parts/format.ts";

export function counterValue(unit: Counter["unit"], value: number): string {
  if (unit === "share") return percent(value);
  if (unit === "bytes") return bytes(value);
  return Number.isInteger(value) || unit === "count" ? count(value) : digits(value);
}

/** One value, or the range within the stretch. */
export function counterText(counter: Counter, { lo, hi }: { lo: number; hi: number }): string {
  const high = counterValue(counter.unit, hi);
  const low = counterValue(counter.unit, lo);
  return low === high ? high : `${low} – ${high}`;
}
