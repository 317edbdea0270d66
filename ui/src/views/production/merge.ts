// A newer answer takes the place of an older one, and what the reader looks at stays. Pure.

import type { Exemplar, ServiceDashboard } from "../../data/production-types.ts";

/** What a request is known by; the service may give the same id twice, or none. */
export function keyOf(one: Exemplar): string {
  return `${one.process}.${one.ended_ns}.${one.latency_ns}`;
}

/** The newer of two answers to the same question; a request that is open is kept though it is no longer among those sent. */
export function merged(
  old: ServiceDashboard | undefined,
  next: ServiceDashboard,
  open: string | undefined,
): ServiceDashboard {
  if (!old) return next;
  // Answers may overtake each other.
  if (old.until > next.until) return old;
  if (old.until === next.until && (old.newest_ns ?? 0) > (next.newest_ns ?? 0)) return old;
  const looked = open === undefined ? undefined : old.exemplars.find((one) => keyOf(one) === open);
  if (!looked || next.exemplars.some((one) => keyOf(one) === open)) return next;
  return { ...next, exemplars: [...next.exemplars, looked] };
}
