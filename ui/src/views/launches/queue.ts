// A step function over time: its outline, and its value at a moment.

import type { Counter } from "../../data/types.ts";

/** The counter of a device's queue among all counters. */
export function queueOf(counters: Counter[], device: number | null): Counter | undefined {
  return counters.find((c) => c.id === `queue:${device ?? -1}`);
}

export interface Box {
  from: number;
  to: number;
  width: number;
  height: number;
  /** The value at the upper edge. */
  top: number;
}

/** The area below a step function as a path: `values[i]` holds from `t[i]` to `t[i + 1]`, the last to the end. */
export function stairs(t: number[], values: number[], box: Box): string {
  const { from, to, width, height, top } = box;
  const x = (at: number) => (((Math.min(Math.max(at, from), to) - from) / (to - from)) * width).toFixed(1);
  const y = (value: number) => (height - (Math.min(value, top) / top) * height).toFixed(1);
  let path = "";
  t.forEach((at, index) => {
    const end = t[index + 1] ?? to;
    const value = values[index] ?? 0;
    if (end <= from || at >= to) return;
    path += path === "" ? `M${x(at)} ${height}V${y(value)}H${x(end)}` : `V${y(value)}H${x(end)}`;
  });
  return path === "" ? "" : `${path}V${height}Z`;
}

/** The index of what holds at a moment; -1 before the first. */
export function indexAt(t: number[], at: number): number {
  let low = 0;
  let high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
