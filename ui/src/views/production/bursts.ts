// Stretches in which far more requests failed than usual. Pure.

import type { ServiceSeries } from "../../data/production-types.ts";
import { lastIndex } from "./from-end.ts";

export interface Burst {
  /** Its first and last point. */
  from: number;
  to: number;
  errors: number;
  requests: number;
  /** The usual share of errors. */
  usual: number;
}

/** Fewer failures are no burst. */
const MIN_ERRORS = 5;
/** A burst has at least this share of errors, and this many times the usual one. */
const MIN_RATE = 0.01;
const TIMES = 4;
/** Points between two bursts that still make them one. */
const GAP = 2;

export function burstsOf({ requests, errors }: Pick<ServiceSeries, "requests" | "errors">): Burst[] {
  const rates = requests
    .flatMap((many, at) => (many >= 10 ? [(errors[at] ?? 0) / many] : []))
    .sort((a, b) => a - b);
  const usual = rates[Math.floor(rates.length / 2)] ?? 0;
  const found: Burst[] = [];
  requests.forEach((many, at) => {
    const failed = errors[at] ?? 0;
    const expected = usual * many;
    const isMany =
      failed >= MIN_ERRORS &&
      failed / many >= Math.max(MIN_RATE, TIMES * usual) &&
      failed > expected + 4 * Math.sqrt(expected + 1);
    if (!isMany) return;
    const before = found[found.length - 1];
    if (before && at - before.to <= GAP) {
      before.to = at;
      before.errors += failed;
      before.requests += many;
    } else found.push({ from: at, to: at, errors: failed, requests: many, usual });
  });
  return found;
}

/** The one that counts: the one that goes on, else the one with the most failures. */
export function worstBurst(
  of: Pick<ServiceSeries, "requests" | "errors">,
): (Burst & { now: boolean }) | undefined {
  const all = burstsOf(of);
  const end = lastIndex(of.requests, (many) => many > 0);
  const last = all[all.length - 1];
  // The newest point may have just begun.
  if (last && last.to >= end - 1) return { ...last, now: true };
  const worst = all.reduce<Burst | undefined>(
    (most, one) => (one.errors > (most?.errors ?? 0) ? one : most),
    undefined,
  );
  return worst && { ...worst, now: false };
}
