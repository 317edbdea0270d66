// Which period is looked at: the last so long, or a stretch that was zoomed into. As the URL says. Pure.

import type { ServiceDashboard, ServiceQuery } from "../../data/production-types.ts";

export const LASTS = ["1h", "6h", "24h", "7d", "30d"] as const;
export type Last = (typeof LASTS)[number];

/** Long enough to see what was before, short enough to see minutes. */
const USUAL: Last = "6h";

export const LAST_NAMES: Record<Last, string> = {
  "1h": "last hour",
  "6h": "last 6 hours",
  "24h": "last 24 hours",
  "7d": "last 7 days",
  "30d": "last 30 days",
};

/** Less has too few points to see a course. */
export const MIN_ZOOM_MINUTES = 5;
/** As long as data is kept anywhere. */
const MAX_MINUTES = 400 * 1440;

export interface Period {
  /** What is shown again when the zoom is left. */
  last: Last;
  /** The stretch that was zoomed into. */
  zoom: { from: number; until: number } | undefined;
}

/** The period of a URL; what makes no sense is ignored. */
export function periodOf(params: Readonly<Record<string, string>>): Period {
  const last = LASTS.find((one) => one === params.last) ?? USUAL;
  const from = minuteOf(params.from);
  const until = minuteOf(params.until);
  const isOne = from !== undefined && until !== undefined && until > from && until - from <= MAX_MINUTES;
  return { last, zoom: isOne ? { from, until } : undefined };
}

function minuteOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

export function queryOf({ last, zoom }: Period, route: string | undefined): ServiceQuery {
  return zoom ? { from: zoom.from, until: zoom.until, route } : { last, route };
}

/** The URL's parameters of a choice; the usual one is left out. */
export function lastParams(last: Last): Record<string, string | undefined> {
  return { last: last === USUAL ? undefined : last, from: undefined, until: undefined };
}

/** Whether new data moves what is shown. */
export function endsNow({ zoom }: Period): boolean {
  return zoom === undefined;
}

type Grid = Pick<ServiceDashboard, "from" | "until" | "point_minutes">;

/** What a drag from one moment to another zooms into: whole points, not less than can be looked at, none outside.
    Nothing if it would show what is shown already. */
export function zoomInto(a: number, b: number, of: Grid): { from: number; until: number } | undefined {
  const step = of.point_minutes;
  // Points begin at multiples of their length.
  const whole = (minute: number, round: (value: number) => number) => round(minute / step) * step;
  let from = Math.max(of.from, whole(Math.min(a, b), Math.floor));
  let until = Math.min(of.until, whole(Math.max(a, b), Math.ceil));
  const missing = MIN_ZOOM_MINUTES - (until - from);
  if (missing > 0) {
    from = Math.max(of.from, from - Math.ceil(missing / 2));
    until = Math.min(of.until, from + MIN_ZOOM_MINUTES);
    from = Math.max(of.from, until - MIN_ZOOM_MINUTES);
  }
  return until > from && until - from < of.until - of.from ? { from, until } : undefined;
}

/** A stretch around a moment, an eighth of what is shown before it: what was, and what became of it. */
export function around(minute: number, of: Grid): { from: number; until: number } | undefined {
  const room = Math.max(MIN_ZOOM_MINUTES, (of.until - of.from) / 8);
  return zoomInto(minute - room, minute + room, of);
}

/** The point of the grid that a moment falls into. */
export function pointAt(minute: number, of: Grid & { minutes: readonly number[] }): number | undefined {
  const at = Math.floor((minute - (of.minutes[0] ?? of.from)) / of.point_minutes);
  return at >= 0 && at < of.minutes.length ? at : undefined;
}
