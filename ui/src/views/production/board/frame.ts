// The one time axis of all charts: where a minute is across, and how values become lines and areas. Pure.

import type { ServiceDashboard } from "../../../data/production-types.ts";

/** Room for the values left of every chart, and for half a label right of it. */
export const LEFT_PX = 60;
export const RIGHT_PX = 10;

export interface Frame {
  of: ServiceDashboard;
  /** Of the drawing, without the room at its sides. */
  width: number;
  /** Where a minute is. */
  x(minute: number): number;
  /** The minute at a place. */
  minute(x: number): number;
  /** Where the middle of a point is. */
  middle(at: number): number;
}

export function frameOf(of: ServiceDashboard, width: number): Frame {
  const span = Math.max(1, of.until - of.from);
  const x = (minute: number) => ((minute - of.from) / span) * width;
  return {
    of,
    width,
    x,
    minute: (place) => of.from + (place / Math.max(1, width)) * span,
    middle: (at) => {
      const from = Math.max(of.from, of.minutes[at]!);
      return x((from + Math.min(of.until, of.minutes[at]! + of.point_minutes)) / 2);
    },
  };
}

const short = (value: number) => Math.round(value * 10) / 10;

type Values = readonly (number | null)[];

/** A line through the points that are known; what is unknown leaves a gap, and a point alone is as wide as it lasts. */
export function linePath(values: Values, frame: Frame, y: (value: number) => number): string {
  const wide = short(Math.max(3, frame.x(frame.of.from + frame.of.point_minutes)));
  const isKnown = (at: number) => values[at] !== null && values[at] !== undefined;
  let path = "";
  values.forEach((value, at) => {
    if (value === null) return;
    const alone = !isKnown(at - 1) && !isKnown(at + 1);
    const x = short(frame.middle(at) - (alone ? wide / 2 : 0));
    path += `${isKnown(at - 1) ? "L" : "M"}${x} ${short(y(value))}${alone ? `h${wide}` : ""}`;
  });
  return path;
}

/** Columns side by side, from `low` up to `high`; where a point is unknown there is none. */
export function stepArea(low: Values, high: Values, { of, x }: Frame, y: (value: number) => number): string {
  const { minutes, point_minutes } = of;
  return high
    .map((value, at) => {
      if (value === null || value === low[at]) return "";
      const left = short(x(Math.max(of.from, minutes[at]!)));
      const right = short(x(Math.min(of.until, minutes[at]! + point_minutes)));
      const floor = short(y(low[at] ?? 0));
      return `M${left} ${floor}V${short(y(value))}H${right}V${floor}Z`;
    })
    .join("");
}

/** Seconds that a point covers: the newest one may have just begun. */
export function secondsOf(of: ServiceDashboard, at: number): number {
  const from = of.minutes[at] ?? of.from;
  const whole = (Math.min(of.until, from + of.point_minutes) - Math.max(of.from, from)) * 60;
  const written = of.newest_ns === null ? whole : of.newest_ns / 1e9 - from * 60;
  return written > 0 ? Math.max(1, Math.min(whole, written)) : Math.max(1, whole);
}

/** Counts per point as numbers per second. */
export function perSecond(counts: readonly number[], of: ServiceDashboard): number[] {
  return counts.map((many, at) => many / secondsOf(of, at));
}

/** Regions on top of each other: per request in nanoseconds, or as shares of the point. */
export function stackOf(of: ServiceDashboard, as: "time" | "share"): { low: Values; high: Values }[] {
  const sums = of.minutes.map((_, at) => of.regions.reduce((sum, one) => sum + (one.time_ns[at] ?? 0), 0));
  let below: Values = of.minutes.map(() => 0);
  return of.regions.map(({ time_ns }) => {
    const low = below;
    const high = low.map((from, at) => {
      const whole = as === "share" ? sums[at] : of.series.requests[at];
      return !whole || from === null ? null : from + (time_ns[at] ?? 0) / whole;
    });
    below = high.map((value) => value ?? 0);
    return { low, high };
  });
}
