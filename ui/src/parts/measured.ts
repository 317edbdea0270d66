// A number in the unit that its answer names.

import type { MetricUnit } from "../data/wire.ts";
import { bytes, count, digits, flops, percent, time } from "./format.ts";

/** `14.25 ms`, `1.88 GiB`, `93.1%`, `512/s`, `12.3 J`, `407`. */
export function measured(unit: MetricUnit, value: number): string {
  if (unit === "nanoseconds") return time(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "share") return percent(value);
  if (unit === "per_second") return `${plainCount(value)}/s`;
  if (unit === "joules") return `${digits(value)} J`;
  return value >= 1e6 ? flops(value) : plainCount(value);
}

/** `407`, `12.3`. */
export function plainCount(value: number): string {
  return Number.isInteger(value) || value >= 1000 ? count(Math.round(value)) : digits(value);
}
