// Where the ticks of the ruler stand and what they say. Pure.

/** Ticks should be at least this far apart. */
const APART = 110;

export interface Ticks {
  step: number;
  first: number;
  /** Lines between two ticks. */
  minor: number;
}

/** Round times, so that neighbours stand at least `APART` pixels apart. */
export function ticksFor(from: number, to: number, width: number): Ticks {
  const least = ((to - from) / Math.max(1, width)) * APART;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const factor = [1, 2, 5, 10].find((f) => f * power >= least) ?? 10;
  const step = Math.max(1, factor * power);
  return { step, first: Math.ceil(from / step) * step, minor: factor === 2 ? 4 : 5 };
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A moment with as many digits as ticks `step` apart need; `scale` is the largest moment in sight. */
export function tickLabel(time: number, step: number, scale: number): string {
  const [unit, name] = UNITS.find(([size]) => Math.abs(scale) >= size) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  const text = (time / unit).toFixed(digits);
  return `${/^-0(\.0*)?$/.test(text) ? text.slice(1) : text} ${name}`;
}
