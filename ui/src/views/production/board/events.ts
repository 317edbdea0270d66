// What happened at a moment: levels that changed and alerts that fired, in the order of time. Pure.

import type { ServiceDashboard } from "../../../data/production-types.ts";
import { about } from "../../../parts/format.ts";
import { changeOf } from "../words.ts";

export interface Happening {
  minute: number;
  kind: "worse" | "better" | "alert";
  text: string;
}

/** Changes and alerts within what is shown, oldest first. */
export function happenings(of: ServiceDashboard): Happening[] {
  const changes = of.changes.map((one): Happening => {
    const grew = one.grew
      ? `; ${one.grew.region} from ${about(one.grew.before_ns)} to ${about(one.grew.after_ns)} per request`
      : "";
    return {
      minute: one.minute,
      kind: one.after_ns > one.before_ns ? "worse" : "better",
      text: `${one.metric} of ${one.route} went from ${about(one.before_ns)} to ${about(one.after_ns)} (${changeOf(one.before_ns, one.after_ns)})${grew}`,
    };
  });
  const alerts = of.alerts.map(
    (one): Happening => ({
      minute: one.at_ns / 60e9,
      kind: "alert",
      text: `Alert ${one.rule}: ${one.message}`,
    }),
  );
  return [...changes, ...alerts]
    .filter((one) => one.minute >= of.from && one.minute < of.until)
    .sort((a, b) => a.minute - b.minute);
}

/** Those that would lie on top of each other share a place. */
export function grouped(
  all: readonly Happening[],
  x: (minute: number) => number,
  apart: number,
): Happening[][] {
  const groups: Happening[][] = [];
  for (const one of all) {
    const last = groups[groups.length - 1];
    if (last?.[0] && x(one.minute) - x(last[0].minute) < apart) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** The worst of a group gives it its look. */
export function worstKind(group: readonly Happening[]): Happening["kind"] {
  const order = ["alert", "worse", "better"] as const;
  return order.find((kind) => group.some((one) => one.kind === kind)) ?? "better";
}
