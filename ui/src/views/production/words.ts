// Numbers of a service as people read them: rates, changes, counters. Pure.

import type { CounterUnit } from "../../data/production-types.ts";
import { bytes, count, digits, percent } from "../../parts/format.ts";

/** `41.2`, `0.03`, `1,204`: requests per second. */
export function rate(perSecond: number): string {
  if (perSecond >= 1000) return count(perSecond);
  return perSecond === 0 ? "0" : perSecond < 0.01 ? "<0.01" : digits(perSecond);
}

/** `+12.3%`, `-4.0%`, `3.1 times as much` where percents are hard to read; nothing without a before. */
export function changeOf(before: number | undefined, after: number): string | undefined {
  if (before === undefined || !(before > 0)) return undefined;
  const share = after / before - 1;
  if (share >= 1.5) return `${digits(after / before)}×`;
  return Math.abs(share) < 0.0005 ? "±0%" : `${share < 0 ? "-" : "+"}${percent(Math.abs(share))}`;
}

/** How a number that should be low compares with the one before: a change by less than a share has no color. */
export function toneOf(before: number | undefined, after: number, share: number): string {
  if (before === undefined || !(before > 0)) return "";
  const change = after / before - 1;
  return change >= share ? "tone-bad" : change <= -share ? "tone-good" : "";
}

/** A counter's value in its unit. Percents are from 0 to 100. */
export function counterText(value: number, unit: CounterUnit): string {
  if (unit === "percent") return percent(value / 100);
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes_per_second") return `${bytes(value)}/s`;
  const suffix = { watts: " W", celsius: " °C", megahertz: " MHz", joules: " J" }[unit as string];
  if (suffix) return digits(value) + suffix;
  return Number.isInteger(value) ? count(value) : digits(value);
}

/** A value that may be unknown. */
export function known(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}
