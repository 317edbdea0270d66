// A counter's values as words.

import type { Counter } from "../../data/types.ts";
import { bytes, count, digits, percent } from "../../parts/format.ts";

export function counterValue({ unit, suffix }: Pick<Counter, "unit" | "suffix">, value: number): string {
  if (unit === "share") return percent(value);
  if (unit === "bytes") return bytes(value);
  if (suffix === "bytes/s") return `${bytes(value)}/s`;
  if (suffix === "0 or 1") return value > 0 ? "yes" : "no";
  const plain = Number.isInteger(value) || unit === "count" ? count(value) : digits(value);
  return suffix ? `${plain} ${suffix}` : plain;
}

/** One value, or the range within the stretch. */
export function counterText(counter: Counter, { lo, hi }: { lo: number; hi: number }): string {
  const high = counterValue(counter, hi);
  const low = counterValue(counter, lo);
  return low === high ? high : `${low} – ${high}`;
}
