// Sums over an area of a report's timeline, by name.

import type { Area, AreaName, Layout } from "../types.ts";
import { firstEndingAfter, type Items } from "./items.ts";

const SHOWN = 500;

interface Open {
  end: number;
  entry: AreaName;
}

/** What lies between two moments in these rows. Self time is less what nests inside, within the same group of rows. */
export function areaOf(
  rows: Map<number, Items>,
  names: (id: number) => string,
  layout: Layout,
  from: number,
  to: number,
  wanted: number[],
): Area {
  const byName = new Map<number, AreaName>();
  const rows_busy: Area["rows_busy"] = [];
  const chosen = new Set(wanted);
  let count = 0;
  let total = 0;
  for (const group of layout.groups) {
    const pieces: { start: number; end: number; row: number; at: number }[] = [];
    for (const row of group.rows) {
      const items = chosen.has(row) ? rows.get(row) : undefined;
      if (!items) continue;
      let busy = 0;
      for (let at = firstEndingAfter(items, from); at < items.n && items.start[at]! < to; at++) {
        const start = Math.max(from, items.start[at]!);
        const end = Math.min(to, items.end[at]!);
        pieces.push({ start, end, row, at });
        busy += end - start;
      }
      rows_busy.push({ row, busy_ns: busy });
    }
    pieces.sort((a, b) => a.start - b.start || b.end - a.end);
    const open: Open[] = [];
    for (const piece of pieces) {
      const items = rows.get(piece.row)!;
      const name = items.name[piece.at]!;
      let entry = byName.get(name);
      if (!entry) {
        entry = {
          name: names(name),
          category: items.category[piece.at]!,
          count: 0,
          total_ns: 0,
          self_ns: 0,
          share: 0,
          longest: items.id[piece.at]!,
        };
        byName.set(name, entry);
      }
      const length = piece.end - piece.start;
      entry.count += items.count[piece.at]!;
      entry.total_ns += length;
      entry.self_ns += length;
      count += items.count[piece.at]!;
      while (open.length > 0 && open[open.length - 1]!.end < piece.end) open.pop();
      const parent = open[open.length - 1];
      if (parent && parent.end > piece.start) parent.entry.self_ns -= length;
      else total += length;
      open.push({ end: piece.end, entry });
    }
  }
  const all = [...byName.values()].sort((a, b) => b.self_ns - a.self_ns);
  const self = all.reduce((sum, entry) => sum + entry.self_ns, 0);
  for (const entry of all) entry.share = self > 0 ? entry.self_ns / self : 0;
  return {
    from_ns: from,
    to_ns: to,
    count,
    total_ns: total,
    names: all.slice(0, SHOWN),
    names_more: Math.max(0, all.length - SHOWN),
    rows_busy,
  };
}
