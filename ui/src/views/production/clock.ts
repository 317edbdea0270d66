// Minutes since 1970 as people read them, in the zone of the reader or in UTC. Pure.

/** How moments are written: in UTC, or as the reader's clock shows them. */
export type Zone = "utc" | "local";

const DAY_MINUTES = 1440;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatted(minute: number, zone: Zone, what: "clock" | "second" | "day" | "weekday"): string {
  const key = `${zone} ${what}`;
  let format = formats.get(key);
  if (!format) {
    const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
    const options: Intl.DateTimeFormatOptions = {
      clock,
      second: { ...clock, second: "2-digit" } as const,
      day: { month: "short", day: "numeric" } as const,
      weekday: { weekday: "short", month: "short", day: "numeric" } as const,
    }[what];
    format = new Intl.DateTimeFormat("en-US", { ...options, ...(zone === "utc" ? { timeZone: "UTC" } : {}) });
    formats.set(key, format);
  }
  return format.format(minute * 60_000);
}

/** `02:07`. */
export function clockOf(minute: number, zone: Zone): string {
  return formatted(minute, zone, "clock");
}

/** `02:07:31`, of nanoseconds since 1970. */
export function secondOf(ns: number, zone: Zone): string {
  return formatted(ns / 60e9, zone, "second");
}

/** `Nov 17`. */
function dayOf(minute: number, zone: Zone): string {
  return formatted(minute, zone, "day");
}

/** `Tue, Nov 17, 02:07`. */
export function momentOf(minute: number, zone: Zone): string {
  return `${formatted(minute, zone, "weekday")}, ${clockOf(minute, zone)}`;
}

/** The clock alone on the day of `near`, else with its day. */
export function shortMoment(minute: number, near: number, zone: Zone): string {
  const clock = clockOf(minute, zone);
  return dayOf(minute, zone) === dayOf(near, zone) ? clock : `${dayOf(minute, zone)}, ${clock}`;
}

/** `10:20 to 11:05`, with the day where it is not today. */
export function stretchOf(from: number, until: number, near: number, zone: Zone): string {
  return `${shortMoment(from, near, zone)} to ${shortMoment(until, from, zone)}`;
}

/** `53 minutes`, `7 hours`, `3 days`. */
export function spanOf(minutes: number): string {
  const [size, name] =
    minutes < 120 ? [1, "minute"] : minutes < 2 * DAY_MINUTES ? [60, "hour"] : [DAY_MINUTES, "day"];
  const many = Math.round(minutes / size);
  return `${many} ${name}${many === 1 ? "" : "s"}`;
}

const STEPS_WITHIN_DAY = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720];
const STEPS = [...STEPS_WITHIN_DAY, ...[1, 2, 7, 14, 28].map((days) => days * DAY_MINUTES)];

export interface ClockTick {
  at: number;
  label: string;
  /** Midnight: another day begins. */
  day: boolean;
}

/** Minutes that the reader's clock is ahead of UTC at a moment. */
function aheadOf(minute: number, zone: Zone): number {
  return zone === "utc" ? 0 : -new Date(minute * 60_000).getTimezoneOffset();
}

/** Round times of the clock between two minutes, at most so many. */
export function clockTicks(from: number, until: number, most: number, zone: Zone): ClockTick[] {
  const least = (until - from) / Math.max(1, most);
  const step = STEPS.find((one) => one >= least) ?? Math.ceil(least / DAY_MINUTES) * DAY_MINUTES;
  const ahead = aheadOf(from, zone);
  const ticks: ClockTick[] = [];
  for (let local = Math.ceil((from + ahead) / step) * step; local <= until + ahead; local += step) {
    const at = local - ahead;
    const day = local % DAY_MINUTES === 0;
    ticks.push({ at, day, label: day ? dayOf(at, zone) : clockOf(at, zone) });
  }
  return ticks;
}

/** Whether the reader's clock shows something else than UTC. */
export function hasOwnZone(minute: number): boolean {
  return aheadOf(minute, "local") !== 0;
}
