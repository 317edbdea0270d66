// The one rule for axes and the ruler: which values are marked, and how they are written. Pure.

import { bytes } from "../format.ts";

/** The least of 1, 2 or 5 times a power of ten that is not below `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return ([1, 2, 5].find((times) => times * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** The same for bytes: a power of two. */
function roundByteStep(least: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(least) - 1e-3));
}

/** No axis has room for more. */
const MAX_TICKS = 400;

/** The multiples of `step` from `low` to `high`. */
function multiples(low: number, high: number, step: number): number[] {
  const ticks: number[] = [];
  // Plus zero: a tick is never written -0.
  const first = Math.ceil(low / step - 1e-9) + 0;
  for (let k = first; k * step <= high + step * 1e-9 && ticks.length < MAX_TICKS; k++) ticks.push(k * step);
  return ticks;
}

/** About so many values from 0 that are easy to read, none above `max`. */
export function ticksWithin(max: number, about: number): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0];
  return multiples(0, max, roundStep(max / Math.max(1, about)));
}

/** The same, up to the first that is not below `max`: nothing is above the axis. */
export function ticksAround(max: number, about: number): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0];
  const step = roundStep(max / Math.max(1, about));
  return multiples(0, Math.ceil(max / step - 1e-9) * step, step);
}

/** Values of bytes from `low` to `high`, about so many. */
export function byteTicks(low: number, high: number, about: number): number[] {
  const least = (high - low) / Math.max(1, about);
  return least > 0 ? multiples(low, high, roundByteStep(least)) : [0];
}

/** `3 GiB`, not `3.00 GiB`; `50%`, not `50.0%`: values beside an axis are round. */
export function roundLabel(format: (value: number) => string): (value: number) => string {
  return (value) =>
    value === 0 ? "0" : format(value).replace(/\.(\d*?)0+(?=\D|$)/, (_, kept) => (kept ? `.${kept}` : ""));
}

export const byteLabel = roundLabel(bytes);

export interface Tick {
  at: number;
  label: string;
}

/** Round moments, about so many. */
export function timeTicks(from: number, to: number, about: number): Tick[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const step = roundStep(Math.max(1, span / Math.max(1, about)));
  return multiples(from, to, step).map((at) => ({ at, label: timeLabel(at, step, to) }));
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A moment with as many decimals as tell it from one `step` away; `scale` is the largest moment in sight. */
export function timeLabel(at: number, step: number, scale: number): string {
  const [unit, name] = UNITS.find(([size]) => Math.abs(scale) >= size) ?? [1, "ns"];
  const decimals = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  const text = (at / unit).toFixed(decimals);
  return `${/^-0(\.0*)?$/.test(text) ? text.slice(1) : text} ${name}`;
}

export interface LogTick {
  value: number;
  /** A power of ten; the others are between. */
  major: boolean;
}

/** Every 1, 2, … 9 times a power of ten from `min` to `max`. */
export function logTicks(min: number, max: number): LogTick[] {
  const ticks: LogTick[] = [];
  if (!(min > 0) || !(max >= min) || !Number.isFinite(max)) return ticks;
  const first = Math.floor(Math.log10(min) + 1e-9);
  const last = Math.ceil(Math.log10(max) - 1e-9);
  for (let power = first; power <= last; power++) {
    for (let times = 1; times <= 9; times++) {
      const value = Number(`${times}e${power}`);
      if (value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9)) ticks.push({ value, major: times === 1 });
    }
  }
  return ticks;
}

/** The powers of ten around all values above zero; `undefined` if there are none. */
export function decades(values: Iterable<number>): [min: number, max: number] | undefined {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (high === 0) return undefined;
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.ceil(Math.log10(high) - 1e-9);
  return [10 ** from, 10 ** Math.max(to, from + 1)];
}

/** Where a value is between `min` and `max` on a logarithmic axis of `length`; clamped to it. */
export function logPosition(value: number, min: number, max: number, length: number): number {
  if (!(value > min)) return 0;
  if (value >= max) return length;
  return (Math.log(value / min) / Math.log(max / min)) * length;
}

/** `0.01`, `1`, `1,000`, `1e-6`: a power of ten on an axis. */
export function logLabel(value: number): string {
  if (value >= 1e6 || value < 1e-3) return value.toExponential(0).replace("e+", "e");
  return value >= 1 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(1)));
}
