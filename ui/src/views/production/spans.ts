// The regions of one request as bars inside each other: how deep, from where to where, how much of it their own. Pure.

import type { Exemplar, KeptSpan } from "../../data/production-types.ts";

export interface PlacedSpan {
  name: string;
  depth: number;
  /** Where it begins and how long it is, as shares of the request. */
  start: number;
  length: number;
  duration_ns: number;
  /** Without the regions inside it. */
  own_ns: number;
}

/** No request is shown deeper; what is deeper lies at this depth. */
const MAX_DEPTH = 12;

/** Regions in the order in which they began, each below the one that it is inside of. */
export function placed({ spans, latency_ns }: Pick<Exemplar, "spans" | "latency_ns">): PlacedSpan[] {
  const inside = new Map<number, number[]>();
  spans.forEach((span, at) => {
    // A parent comes before its children; what names another is taken as being inside none.
    const parent = span.parent !== null && span.parent >= 0 && span.parent < at ? span.parent : -1;
    const list = inside.get(parent);
    if (list) list.push(at);
    else inside.set(parent, [at]);
  });
  const whole = Math.max(1, latency_ns);
  const rows: PlacedSpan[] = [];
  const add = (parent: number, depth: number) => {
    const all = (inside.get(parent) ?? []).sort((a, b) => start(spans[a]!) - start(spans[b]!));
    for (const at of all) {
      const { name, duration_ns } = spans[at]!;
      const below = (inside.get(at) ?? []).reduce((sum, child) => sum + (spans[child]?.duration_ns ?? 0), 0);
      const from = Math.max(0, Math.min(1, start(spans[at]!) / whole));
      rows.push({
        name,
        depth,
        start: from,
        length: Math.max(0, Math.min(1 - from, duration_ns / whole)),
        duration_ns,
        own_ns: Math.max(0, duration_ns - below),
      });
      add(at, Math.min(MAX_DEPTH, depth + 1));
    }
  };
  add(-1, 0);
  return rows;
}

const start = (span: KeptSpan) => span.start_ns;

/** Time of the request in no region. */
export function outside({ spans, latency_ns }: Pick<Exemplar, "spans" | "latency_ns">): number {
  const within = spans.filter((one) => one.parent === null).reduce((sum, one) => sum + one.duration_ns, 0);
  return Math.max(0, latency_ns - within);
}

/** The name with the most time of its own. */
export function longestOwn(
  of: Pick<Exemplar, "spans" | "latency_ns">,
): { name: string; own_ns: number } | undefined {
  const sums = new Map<string, number>();
  for (const { name, own_ns } of placed(of)) sums.set(name, (sums.get(name) ?? 0) + own_ns);
  if (sums.size === 0) return undefined;
  sums.set("(outside regions)", outside(of));
  const [name, own_ns] = [...sums].reduce((most, one) => (one[1] > most[1] ? one : most));
  return { name, own_ns };
}
