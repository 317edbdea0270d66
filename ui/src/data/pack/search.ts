// Search by name in the items of a report.

import { SourceError } from "../source.ts";
import type { Hits, Layout, Ref, SearchQuery } from "../types.ts";
import type { Items } from "./items.ts";

const MAX_NAMES = 50;
const DENSITY_BINS = 256;

export function searchIn(
  rows: Map<number, Items>,
  names: Map<number, string>,
  layout: Layout,
  query: SearchQuery,
): Hits {
  const matches = matcher(query);
  const wanted = new Map<number, { id: number; name: string; count: number; total_ns: number }>();
  for (const [id, name] of names) if (matches(name)) wanted.set(id, { id, name, count: 0, total_ns: 0 });
  const density = new Array<number>(DENSITY_BINS).fill(0);
  const hits: Ref[] = [];
  let total = 0;
  let total_ns = 0;
  for (const group of layout.groups) {
    if (group.derived) continue;
    for (const row of group.rows) {
      const items = rows.get(row);
      for (let at = 0; items && at < items.n; at++) {
        const entry = wanted.get(items.name[at]!);
        if (!entry || (query.category !== undefined && items.category[at] !== query.category)) continue;
        const start = items.start[at]!;
        const dur = items.end[at]! - start;
        entry.count += items.count[at]!;
        entry.total_ns += dur;
        total += items.count[at]!;
        total_ns += dur;
        const bin = Math.min(
          DENSITY_BINS - 1,
          Math.floor((start / Math.max(1, layout.extent_ns)) * DENSITY_BINS),
        );
        density[bin] = (density[bin] ?? 0) + items.count[at]!;
        if (start >= (query.after ?? 0))
          hits.push({
            id: items.id[at]!,
            name: entry.name,
            category: items.category[at]!,
            row,
            start_ns: start,
            dur_ns: dur,
          });
      }
    }
  }
  hits.sort((a, b) => (query.order === "dur" ? b.dur_ns - a.dur_ns : a.start_ns - b.start_ns));
  const found = [...wanted.values()]
    .filter((name) => name.count > 0)
    .sort((a, b) => b.total_ns - a.total_ns || b.count - a.count);
  return {
    query: query.q,
    total,
    total_ns,
    names: found.slice(0, MAX_NAMES),
    names_more: Math.max(0, found.length - MAX_NAMES),
    hits: hits.slice(0, query.limit ?? 200),
    density,
  };
}

function matcher({ q, exact }: SearchQuery): (name: string) => boolean {
  if (exact) return (name) => name === q;
  const pattern = /^\/(.*)\/$/s.exec(q)?.[1];
  if (pattern === undefined) {
    const text = q.toLowerCase();
    return text === "" ? () => false : (name) => name.toLowerCase().includes(text);
  }
  try {
    const regex = new RegExp(pattern, "i");
    return (name) => regex.test(name);
  } catch {
    throw new SourceError({
      message: `Invalid regular expression: ${pattern}`,
      hint: "Remove the slashes to search for the text itself.",
    });
  }
}
