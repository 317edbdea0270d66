// Sums over an area of a report's timeline, by name.

import type { Area, AreaName, Layout } from "../types.ts";
import { firstEndingAfter, type Items } from "./items.ts";

const MAX_NAMES = 500;

interface Piece {
  start: number;
  end: number;
  row: number;
  at: number;
}

/**
 * What lies between two moments in these rows. Self time is less what nests inside, within the same group of rows,
 * whether the inner rows are asked for or not.
 */
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
  for (const group of layout.groups.filter((g) => g.rows.some((row) => chosen.has(row)))) {
    const open: { end: number; entry: AreaName | undefined }[] = [];
    for (const piece of piecesOf(rows, group.rows, from, to)) {
      const length = piece.end - piece.start;
      let entry: AreaName | undefined;
      if (chosen.has(piece.row)) {
        entry = entryOf(byName, rows.get(piece.row)!, piece.at, names);
        entry.total_ns += length;
        entry.self_ns += length;
        count += rows.get(piece.row)!.count[piece.at]!;
        total += length;
      }
      while (open.length > 0 && open[open.length - 1]!.end < piece.end) open.pop();
      const parent = open[open.length - 1];
      if (parent?.entry && parent.end > piece.start) parent.entry.self_ns -= length;
      open.push({ end: piece.end, entry });
    }
    for (const row of group.rows)
      if (chosen.has(row)) rows_busy.push({ row, busy_ns: busyOf(rows.get(row), from, to) });
  }
  const all = [...byName.values()].sort((a, b) => b.self_ns - a.self_ns);
  const self = all.reduce((sum, entry) => sum + entry.self_ns, 0);
  for (const entry of all) entry.share = self > 0 ? entry.self_ns / self : 0;
  const shown = all.slice(0, MAX_NAMES);
  return {
    from_ns: from,
    to_ns: to,
    count,
    total_ns: total,
    names: shown,
    names_more: all.length - shown.length,
    rows_busy,
  };
}

/** The parts of a group's items inside the area, by start, the longer first. */
function piecesOf(rows: Map<number, Items>, group: number[], from: number, to: number): Piece[] {
  const pieces: Piece[] = [];
  for (const row of group) {
    const items = rows.get(row);
    if (!items) continue;
    for (let at = firstEndingAfter(items, from); at < items.n && items.start[at]! < to; at++) {
      pieces.push({ start: Math.max(from, items.start[at]!), end: Math.min(to, items.end[at]!), row, at });
    }
  }
  return pieces.sort((a, b) => a.start - b.start || b.end - a.end || a.row - b.row);
}

function entryOf(
  byName: Map<number, AreaName>,
  items: Items,
  at: number,
  names: (id: number) => string,
): AreaName {
  const id = items.name[at]!;
  let entry = byName.get(id);
  if (!entry) {
    const category = items.category[at]!;
    entry = { name: names(id), category, count: 0, total_ns: 0, self_ns: 0, share: 0, longest: items.id[at]! };
    byName.set(id, entry);
  }
  entry.count += items.count[at]!;
  return entry;
}

function busyOf(items: Items | undefined, from: number, to: number): number {
  let busy = 0;
  if (!items) return busy;
  for (let at = firstEndingAfter(items, from); at < items.n && items.start[at]! < to; at++) {
    busy += Math.min(to, items.end[at]!) - Math.max(from, items.start[at]!);
  }
  return busy;
}
