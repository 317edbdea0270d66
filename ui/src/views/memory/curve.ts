// The level of memory over time as geometry: pure, so that what is drawn can be tested.

import type { BreakdownRow, CurvePoint, DeviceMemory } from "../../data/wire.ts";
import type { Span } from "../../parts/span.ts";

/** A step on the time axis. */
export type StepRow = Pick<BreakdownRow, "step" | "name" | "start_ns" | "wall_ns">;

export interface Level {
  allocated: number;
  reserved: number | null;
}

/** The level at a moment: that of the last mark at or before it. */
export function levelAt(device: DeviceMemory, at: number): Level {
  const { curve } = device;
  let low = 0;
  let high = curve.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve[middle]!.at_ns <= at) low = middle + 1;
    else high = middle;
  }
  const point = curve[low - 1];
  if (!point) return { allocated: device.opening_allocated_bytes, reserved: curve[0]?.reserved_bytes ?? null };
  return { allocated: point.allocated_bytes, reserved: point.reserved_bytes };
}

/** The lowest and highest level, with zero between or at an end. */
export function reach(device: DeviceMemory, reserved: boolean): { low: number; high: number } {
  let low = Math.min(0, device.opening_allocated_bytes);
  let high = Math.max(0, device.opening_allocated_bytes, device.peak_allocated_bytes);
  for (const point of device.curve) {
    low = Math.min(low, point.allocated_bytes);
    high = Math.max(high, point.allocated_bytes);
    if (reserved) high = Math.max(high, point.reserved_bytes ?? 0);
  }
  return { low, high: high > low ? high : low + 1 };
}

/** A path of steps through the marks, from the level before the first to the end of the span. */
export function stepPath(
  points: readonly CurvePoint[],
  value: (point: CurvePoint) => number | null,
  before: number | null,
  span: Span,
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  const at = (n: number) => Math.round(n * 10) / 10;
  let path = before === null ? "" : `M${at(x(span.from))} ${at(y(before))}`;
  let last = before;
  for (const point of points) {
    const next = value(point);
    if (next === null) continue;
    if (point.at_ns > span.to) break;
    if (point.at_ns < span.from) path = `M${at(x(span.from))} ${at(y(next))}`;
    else if (path === "") path = `M${at(x(point.at_ns))} ${at(y(next))}`;
    else if (next !== last) path += `H${at(x(point.at_ns))}V${at(y(next))}`;
    last = next;
  }
  return path === "" ? "" : `${path}H${at(x(span.to))}`;
}

/** The steps meant by `7`, `3,5` or `2-4`. */
export function stepsOf(text: string | undefined, steps: readonly StepRow[]): StepRow[] {
  if (text === undefined) return [];
  const wanted = text.split(",").map((part) => part.split("-").map(Number));
  return steps.filter(({ step }) =>
    wanted.some(([from, to]) => from !== undefined && step >= from && step <= (to ?? from)),
  );
}

/** From the first to the last of some steps. */
export function spanOfSteps(steps: readonly StepRow[]): Span | undefined {
  if (steps.length === 0) return undefined;
  return {
    from: Math.min(...steps.map((s) => s.start_ns)),
    to: Math.max(...steps.map((s) => s.start_ns + s.wall_ns)),
  };
}

/** `12.3`, `12.3 ms`, `1.5 s`: what people type for a moment; milliseconds where no unit is given. */
export function parseTime(text: string): number | undefined {
  const found = /^\s*(\d+(?:[.,]\d*)?|[.,]\d+)\s*(ns|us|µs|ms|s)?\s*$/.exec(text);
  if (!found) return undefined;
  const units: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };
  return Math.round(Number(found[1]!.replace(",", ".")) * (units[found[2] ?? "ms"] ?? 1e6));
}

/** Two moments in order and inside the run; `undefined` where nothing is between them. */
export function spanOf(a: number, b: number, extent: number): Span | undefined {
  const from = Math.max(0, Math.floor(Math.min(a, b)));
  const to = Math.min(Math.ceil(extent), Math.ceil(Math.max(a, b)));
  return to > from ? { from, to } : undefined;
}
