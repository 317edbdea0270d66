// The tree of modules as rows in sight: which are open, in what order, which hold what is searched for.

import type { Module } from "../../data/wire.ts";

export interface Forest {
  roots: number[];
  children: number[][];
}

/** Which module is inside which; a module always comes after the one around it. */
export function forestOf(rows: readonly Module[]): Forest {
  const roots: number[] = [];
  const children: number[][] = rows.map(() => []);
  rows.forEach((row, index) => {
    const around = row.parent;
    if (around !== null && around >= 0 && around < index) children[around]!.push(index);
    else roots.push(index);
  });
  return { roots, children };
}

export interface VisibleRow {
  index: number;
  level: number;
  /** `undefined` without children. */
  open: boolean | undefined;
  /** Its own name holds what is searched for. */
  matched: boolean;
  /** Among its siblings, from 1. */
  place: number;
  siblings: number;
}

export interface Wanted {
  isOpen: (index: number) => boolean;
  /** Siblings by this number, the largest first; as they were called if left out. */
  sort?: string | undefined;
  /** Only what holds this text, what is around it and what is below it. */
  text?: string | undefined;
}

/** The rows to show, from top to bottom. */
export function inOrder(rows: readonly Module[], forest: Forest, wanted: Wanted): VisibleRow[] {
  const sought = wanted.text?.trim().toLowerCase() ?? "";
  const matched = rows.map((row) => sought !== "" && row.name.toLowerCase().includes(sought));
  const inside = [...matched];
  for (let i = rows.length - 1; i >= 0; i--) {
    const around = rows[i]!.parent;
    if (inside[i] && around !== null && around < i) inside[around] = true;
  }
  const seen: VisibleRow[] = [];
  const walk: { index: number; level: number; under: boolean; place: number; siblings: number }[] = [];
  const push = (list: number[], level: number, under: boolean) => {
    const kept = sought === "" || under ? list : list.filter((index) => inside[index]);
    const sorted = sortedBy(rows, kept, wanted.sort);
    for (let i = sorted.length - 1; i >= 0; i--)
      walk.push({ index: sorted[i]!, level, under, place: i + 1, siblings: sorted.length });
  };
  push(forest.roots, 1, false);
  while (walk.length > 0) {
    const { index, level, under, place, siblings } = walk.pop()!;
    const kids = forest.children[index]!;
    // What leads to something found is open; what is below it is as the user left it.
    const leads = sought !== "" && kids.some((kid) => inside[kid]);
    const open = kids.length === 0 ? undefined : leads || wanted.isOpen(index);
    seen.push({ index, level, open, matched: matched[index]!, place, siblings });
    if (open) push(kids, level + 1, under || matched[index]!);
  }
  return seen;
}

function sortedBy(rows: readonly Module[], list: number[], sort: string | undefined): number[] {
  if (sort === undefined) return list;
  if (sort === "name")
    return [...list].sort((a, b) => rows[a]!.name.localeCompare(rows[b]!.name, "en", { numeric: true }));
  const value = (index: number) => {
    const found = rows[index]![sort as keyof Module];
    return typeof found === "number" ? found : -1;
  };
  return [...list].sort((a, b) => value(b) - value(a) || a - b);
}

/** How much is open at first: all of a small model, the upper levels of a large one. */
export function opensAtFirst(rows: readonly Module[], index: number): boolean {
  return rows.length <= 60 || rows[index]!.depth < 2;
}

/** `3.7.12` as the rows it names. */
export function toggledOf(text: string | undefined): Set<number> {
  return new Set((text ?? "").split(".").filter(Boolean).map(Number).filter(Number.isInteger));
}

/** The URL after a row was opened or closed. */
export function toggle(text: string | undefined, index: number): string | undefined {
  const rows = toggledOf(text);
  if (!rows.delete(index)) rows.add(index);
  return rows.size > 0 ? [...rows].sort((a, b) => a - b).join(".") : undefined;
}

/** Device time forward and backward, as a share of all; host time where there is no device. */
export function shareOf(row: Module, device: number, host: number): { forward: number; backward: number } {
  const all = device > 0 ? device : host;
  if (!(all > 0)) return { forward: 0, backward: 0 };
  return device > 0
    ? { forward: row.device_total_ns / all, backward: row.backward_device_ns / all }
    : { forward: row.host_total_ns / all, backward: row.backward_host_ns / all };
}
