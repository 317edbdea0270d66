// The first sentence: the worst of what happened, since when, where, and what came with it. Pure.

import type { Exemplar, Grown, LevelChange, ServiceDashboard, TargetRow } from "../../data/production-types.ts";
import { about, count, percent, time } from "../../parts/format.ts";
import { worstBurst } from "./bursts.ts";
import { shortMoment, spanOf, stretchOf, type Zone } from "./clock.ts";
import { lastIndex } from "./from-end.ts";
import { changeOf, rate } from "./words.ts";

export type Grade = "bad" | "warn" | "good" | "none";

/** Something worth a sentence. */
export interface Matter {
  grade: Grade;
  /** In two or three words. */
  word: string;
  sentence: string;
  /** What is less urgent to know. */
  detail?: string | undefined;
  /** Since when, and until when if it is over. */
  minute: number | null;
  until?: number | undefined;
  route: string | null;
  grew: Grown | null;
  failed?: boolean;
  /** The higher, the earlier it is said. */
  rank: number;
}

export interface Verdict extends Matter {
  /** What else there is to say, worst first. */
  also: Matter[];
}

/** Silence longer than this is news: a minute is written every minute. */
const SILENT_MINUTES = 3;
/** From this rise on a level is called slow. */
const SLOW = 1.25;
/** A level this much above the one before the rise has not recovered. */
const STILL = 1.1;

export function verdictOf(of: ServiceDashboard, now: boolean, zone: Zone): Verdict {
  const rises = risesOf(of, now, zone);
  const targets = targetMatters(of, now);
  const all = [silence(of, now, zone), ...targets, ...rises, errorMatter(of, zone)]
    .filter((one) => one !== undefined)
    .sort((a, b) => b.rank - a.rank);
  const [first, ...rest] = all;
  if (!first) return { ...fine(of), also: [] };
  // A target that is missed because its route became slow is one matter, not two.
  const cause = targets.includes(first)
    ? rises.find((one) => one.route === first.route && one.until === undefined)
    : undefined;
  if (!cause) return { ...first, also: rest };
  const also = rest.filter((one) => one !== cause);
  return { ...cause, grade: first.grade, detail: first.sentence, also };
}

function silence(of: ServiceDashboard, now: boolean, zone: Zone): Matter | undefined {
  if (!now || of.newest_ns === null) return undefined;
  const newest = of.newest_ns / 60e9;
  const silent = of.until - newest;
  if (silent <= SILENT_MINUTES) return undefined;
  return {
    grade: "bad",
    word: "No data",
    sentence: `Nothing has been written since ${shortMoment(newest, of.until, zone)}, for ${spanOf(silent)}: the service gets no requests, or is down.`,
    minute: newest,
    route: null,
    grew: null,
    rank: 100,
  };
}

/** Levels of latency that rose: those that still last, and those that are over. */
function risesOf(of: ServiceDashboard, now: boolean, zone: Zone): Matter[] {
  const routes = new Map<string, LevelChange[]>();
  for (const change of of.changes) {
    const list = routes.get(change.route);
    if (list) list.push(change);
    else routes.set(change.route, [change]);
  }
  return [...routes].flatMap(([route, changes]) => {
    // What most requests notice is p95; a middle that moved alone counts, too.
    const chains = (["p95", "p50"] as const).map((metric) =>
      chainOf(
        metric,
        changes.filter((one) => one.metric === metric),
      ),
    );
    const lasting = chains.find((one) => one?.until === undefined && one !== undefined);
    const chain = lasting ?? chains.find((one) => one !== undefined);
    return chain ? [riseMatter(route, chain, of, now, zone)] : [];
  });
}

interface Rise {
  metric: "p50" | "p95";
  minute: number;
  before_ns: number;
  after_ns: number;
  grew: Grown | null;
  /** When it was over. */
  until: number | undefined;
}

/** The rise that matters in the changes of one number: the latest that lasts, else the highest. */
export function chainOf(metric: "p50" | "p95", changes: readonly LevelChange[]): Rise | undefined {
  const sorted = [...changes].sort((a, b) => a.minute - b.minute);
  const level = sorted[sorted.length - 1]?.after_ns;
  const rises = sorted.filter((one) => one.after_ns > one.before_ns);
  if (level === undefined || rises.length === 0) return undefined;
  const lasting =
    rises[lastIndex(rises, (one) => level >= one.before_ns * Math.min(STILL, one.after_ns / one.before_ns))];
  if (lasting) return { ...lasting, metric, after_ns: level, until: undefined };
  const highest = rises.reduce((most, one) => (one.after_ns > most.after_ns ? one : most));
  const over = sorted.find((one) => one.minute > highest.minute && one.after_ns < highest.after_ns);
  return { ...highest, metric, until: over?.minute };
}

function riseMatter(route: string, rise: Rise, of: ServiceDashboard, now: boolean, zone: Zone): Matter {
  const { metric, minute, until, before_ns, after_ns, grew } = rise;
  const times = after_ns / before_ns;
  const share = of.routes.find((one) => one.route === route)?.time_share ?? 1;
  const from = shortMoment(minute, of.until, zone);
  const when =
    until !== undefined
      ? `was slow from ${stretchOf(minute, until, of.until, zone)}`
      : `has been slow since ${from}`;
  const was = now || until !== undefined ? when : `was slow from ${from} on`;
  const levels = `${metric} rose from ${about(before_ns)} to ${about(after_ns)} (${changeOf(before_ns, after_ns)})`;
  const region = grew ? `; ${grew.region} grew most` : "";
  const isSlow = times >= SLOW;
  return {
    grade: until === undefined && isSlow ? "bad" : "warn",
    word: until !== undefined ? "Was slow" : isSlow ? "Slow" : "Slower",
    sentence: `${route} ${was}: ${levels}${region}.`,
    minute,
    until,
    route,
    grew,
    // Among routes, the one in which the service spends its time comes first.
    rank: (until !== undefined ? 30 : isSlow ? 80 : 50) + share,
  };
}

function targetMatters(of: ServiceDashboard, now: boolean): Matter[] {
  return of.targets.flatMap((target): Matter[] => {
    const { alert, kept, route } = target;
    if (!alert && kept) return [];
    const rank = alert === "fast" ? 90 : alert === "slow" ? 70 : 60;
    return [
      {
        grade: alert === "fast" ? "bad" : "warn",
        word: alert && now ? "Budget burning" : "Target missed",
        sentence: targetSentence(target),
        minute: null,
        route,
        grew: null,
        rank,
      },
    ];
  });
}

/** What a target says about itself: over the stretch that the alert is about, else over the period. */
function targetSentence(target: TargetRow): string {
  const { alert, route, allowed } = target;
  const window = alert && target.burn.find((one) => one.minutes === (alert === "fast" ? 60 : 360));
  const of = window || target;
  const missed = percent(of.missed / Math.max(1, of.requests));
  const where = window
    ? `in the last ${window.minutes === 60 ? "hour" : spanOf(window.minutes)}`
    : "over the period";
  const may = allowed > 0 ? `${percent(allowed)} may` : "none may";
  const burn = window?.rate ? `: the error budget is burning ${window.rate.toFixed(1)} times too fast` : "";
  return `${missed} of requests to ${route} missed ${target.target} ${where} (${may})${burn}.`;
}

function errorMatter(of: ServiceDashboard, zone: Zone): Matter | undefined {
  const burst = worstBurst(of.series);
  if (!burst) return undefined;
  const minute = of.minutes[burst.from] ?? of.from;
  const end = (of.minutes[burst.to] ?? of.until) + of.point_minutes;
  const when = burst.now
    ? `since ${shortMoment(minute, of.until, zone)}`
    : `from ${stretchOf(minute, end, of.until, zone)}`;
  const share = burst.errors / burst.requests;
  const most = [...of.routes].sort((a, b) => b.now.errors - a.now.errors)[0];
  const route = of.route ?? (most && most.now.errors > 0.6 * of.total.errors ? most.route : null);
  const what = route === null || of.route !== null ? "requests" : `requests, most of them of ${route}`;
  return {
    grade: burst.now ? "bad" : "warn",
    word: burst.now ? "Errors" : "Errors earlier",
    sentence: `${percent(share)} of requests failed ${when}: ${count(burst.errors)} ${what}; usually ${percent(burst.usual)}.`,
    minute,
    until: burst.now ? undefined : end,
    route,
    grew: null,
    failed: true,
    rank: (burst.now ? (share >= 0.05 ? 85 : 75) : 40) + share,
  };
}

function fine(of: ServiceDashboard): Matter {
  const { total, targets } = of;
  const nothing = { minute: null, route: null, grew: null, rank: 0 };
  if (total.requests === 0)
    return { ...nothing, grade: "none", word: "No requests", sentence: "No request ended in this period." };
  const kept =
    targets.length === 0
      ? ""
      : targets.length === 1
        ? "; its target is met"
        : `; all ${targets.length} targets are met`;
  return {
    ...nothing,
    grade: "good",
    word: "All fine",
    sentence: `${of.route ?? "The service"} answers ${rate(total.per_second)} requests per second, 95% of them within ${time(total.p95_ns)}; ${total.errors === 0 ? "none failed" : `${percent(total.error_rate)} failed`}${kept}.`,
  };
}

/** A request that shows a matter: of its route, from its time, failed or slow as it is. */
export function exampleOf(matter: Matter, exemplars: readonly Exemplar[]): Exemplar | undefined {
  const { route, minute, until, failed } = matter;
  const fitting = exemplars.filter(
    (one) =>
      (route === null || one.route === route) &&
      (!failed || one.failed) &&
      one.ended_ns >= (minute ?? 0) * 60e9 &&
      one.ended_ns < (until ?? Number.POSITIVE_INFINITY) * 60e9,
  );
  return fitting.sort((a, b) => b.latency_ns - a.latency_ns)[0];
}
