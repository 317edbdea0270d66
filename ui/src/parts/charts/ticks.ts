// Axes: which values stand on them and where.

/** 1, 2 or 5 times a power of ten, so that about so many fit into a length. */
function niceStep(length: number, about: number): number {
  const rough = length / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((times) => times * power >= rough * (1 - 1e-9)) ?? 10) * power;
}

/** Values from 0 to `max` that are easy to read. */
export function niceTicks(max: number, about: number): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0];
  const step = niceStep(max, about);
  const ticks: number[] = [];
  for (let at = 0; at * step <= max * (1 + 1e-9); at++) ticks.push(at * step);
  return ticks;
}

const UNITS: [ns: number, name: string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Moments that are easy to read, each with as many decimals as tell it from its neighbours. */
export function timeTicks(from: number, to: number, about: number): { at: number; label: string }[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const step = niceStep(span, about);
  const [unit, name] = UNITS.find(([ns]) => to >= ns) ?? [1, "ns"];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  const ticks: { at: number; label: string }[] = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to; at += step)
    ticks.push({ at, label: `${(at / unit).toFixed(decimals)} ${name}` });
  return ticks;
}

export interface LogTick {
  value: number;
  /** A power of ten; the others stand between. */
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

/** Where a value stands between `min` and `max` on a logarithmic axis of `length`; clamped to it. */
export function logPosition(value: number, min: number, max: number, length: number): number {
  if (!(value > min)) return 0;
  if (value >= max) return length;
  return (Math.log(value / min) / Math.log(max / min)) * length;
}

/** `0.01`, `1`, `1,000`, `1e-6`: a power of ten on an axis. */
export function tickLabel(value: number): string {
  if (value >= 1e6 || value < 1e-3) return value.toExponential(0).replace("e+", "e");
  return value >= 1 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(1)));
}
