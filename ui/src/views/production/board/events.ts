// The marks of what happened: those that would hide each other share a place. Pure.

import type { ServiceEvent } from "../../../data/production-types.ts";

export type { ServiceEvent };

/** Those that would lie on top of each other share a place. */
export function grouped(
  all: readonly ServiceEvent[],
  x: (minute: number) => number,
  apart: number,
): ServiceEvent[][] {
  const groups: ServiceEvent[][] = [];
  for (const one of all) {
    const last = groups[groups.length - 1];
    if (last?.[0] && x(one.minute) - x(last[0].minute) < apart) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** The worst of a group gives it its look. */
export function worstKind(group: readonly ServiceEvent[]): ServiceEvent["kind"] {
  const order = ["alert", "worse", "better"] as const;
  return order.find((kind) => group.some((one) => one.kind === kind)) ?? "better";
}
