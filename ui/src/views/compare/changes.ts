// The rows of a comparison: what happened to each, in which order, which match a filter, where they lead. Pure.

import type { Cause, ChangeRow, MatchLevel } from "../../data/wire.ts";
import { exactly } from "../../parts/filter.tsx";
import { count, shortName } from "../../parts/format.ts";

/** What happened to a row, in one or two words. */
export function whatOf(row: ChangeRow): string {
  const { change, matched, cause } = row;
  if (change === "added") return "new";
  if (change === "removed") return "gone";
  if (change === "same") return "same";
  if (matched === "fused") return "fused";
  const otherWork = matched === "operator" || matched === "operator_elsewhere";
  if (otherWork && cause === "kernel") return "other kernel";
  if (otherWork && cause === "copy") return "other copy";
  if (matched === "module") return "replaced";
  if (matched === "kernel") return "other shapes";
  if (row.is_noise) return "noise";
  return change === "increased" ? "slower" : "faster";
}

/** How the two sides of a row were found to be the same thing. */
export const MATCHED: Record<MatchLevel, string> = {
  place: "The same module, operator, kernel and shapes in both runs.",
  kernel: "The same module, operator and kernel; the shapes differ.",
  operator: "The same operator of the same module, with another kernel.",
  moved: "The same operator and kernel, in another module.",
  operator_elsewhere: "The same operator, with another kernel and in another module.",
  name: "The same name, under another operator or at another line.",
  fused: "Operators whose names are in the name of a fused kernel.",
  module: "What is left of the same module.",
  alone: "Only one of the runs has it.",
};

const BUSY: readonly Cause[] = ["kernel", "communication", "copy", "fill"];

export function isBusy(cause: Cause): boolean {
  return BUSY.includes(cause);
}

/** Several kernels are one row: their names are joined by this. */
const AND = " + ";

/** The names of one or more kernels without what everyone knows. */
export function shortNames(names: string): string {
  return names.split(AND).map(shortName).join(AND);
}

export interface Where {
  /** Why the device was idle; none for work. */
  cause: string | undefined;
  op: string | undefined;
  /** What the earlier run called it, where that differs. */
  was: string | undefined;
  name: string;
}

/** Where a row is, in its shortest form. */
export function whereOf(row: ChangeRow, label: (cause: Cause) => string): Where {
  const name = shortNames(row.name);
  const was = row.before_name === null ? undefined : shortNames(row.before_name);
  const cause = label(row.cause);
  return {
    // The main thread's account calls its causes by other names than a device's, which is idle meanwhile.
    cause: isBusy(row.cause) || name.replace("idle: ", "") === cause.replace("idle: ", "") ? undefined : cause,
    op: row.op !== null && row.op !== row.name ? shortName(row.op) : undefined,
    was: was === name ? undefined : was,
    name,
  };
}

/** `12`, or `12 → 8`; per step, so with a decimal where steps differ. */
export function countsOf(row: ChangeRow): string {
  const text = (n: number) => (n >= 10 || Number.isInteger(n) ? count(n) : n.toFixed(1));
  const [before, after] = [text(row.before_count), text(row.after_count)];
  return row.before_count === row.after_count ? after : `${before} → ${after}`;
}

/** Whether a filter means a row: a regular expression, or plain text where it is none. */
export function meaning(filter: string | undefined): (row: ChangeRow) => boolean {
  if (!filter) return () => true;
  const test = tester(filter);
  return (row) =>
    [row.name, row.before_name, row.op, row.module, whatOf(row), row.cause].some(
      (text) => text !== null && test(text.slice(0, 4000)),
    );
}

function tester(filter: string): (text: string) => boolean {
  try {
    const expression = new RegExp(filter, "i");
    return (text) => expression.test(text);
  } catch {
    const low = filter.toLowerCase();
    return (text) => text.toLowerCase().includes(low);
  }
}

export const SORTS = ["delta_ns", "noise_ns", "before_ns", "after_ns", "after_count", "what", "name", "module"];

/** The rows that a filter means, the largest first, texts by the alphabet; what has none of it comes last. */
export function arranged(rows: readonly ChangeRow[], filter: string | undefined, sort: string): ChangeRow[] {
  const kept = rows.filter(meaning(filter));
  const key = (row: ChangeRow): number | string | null => {
    if (sort === "what") return whatOf(row);
    if (sort === "name" || sort === "module") return row[sort];
    if (sort === "noise_ns" || sort === "before_ns" || sort === "after_ns" || sort === "after_count")
      return row[sort];
    return Math.abs(row.delta_ns);
  };
  return kept.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    const order = typeof x === "number" && typeof y === "number" ? y - x : x < y ? -1 : x > y ? 1 : 0;
    return order || Math.abs(b.delta_ns) - Math.abs(a.delta_ns);
  });
}

export interface Target {
  view: "kernels" | "operators" | "timeline";
  params: Record<string, string | number>;
}

/** Where one side of a row can be looked at; nowhere if that run does not have it. */
export function targetOf(row: ChangeRow, side: "before" | "after"): Target | undefined {
  const ns = side === "before" ? row.before_ns : row.after_ns;
  const times = side === "before" ? row.before_count : row.after_count;
  if (ns === 0 && times === 0) return undefined;
  const name = side === "before" ? (row.before_name ?? row.name) : row.name;
  const single = !name.includes(AND);
  if (single && (row.cause === "kernel" || row.cause === "communication"))
    return { view: "kernels", params: { filter: exactly(name), open: 0 } };
  if (single && (row.cause === "copy" || row.cause === "fill"))
    return { view: "kernels", params: { by: "copies", filter: exactly(name) } };
  const op = opOf(row, side);
  if (op !== undefined) return { view: "operators", params: { filter: exactly(op), open: 0 } };
  // What the host was in; a cause alone has no slices.
  if (single && !isBusy(row.cause) && !name.startsWith("idle: ")) return { view: "timeline", params: { name } };
  return undefined;
}

/** The operator as that run calls it: rows matched by less than their operator know the later run's only. */
function opOf({ op, matched }: ChangeRow, side: "before" | "after"): string | undefined {
  if (op === null || op.includes(AND)) return undefined;
  const isBoth = matched !== "fused" && matched !== "module" && matched !== "name";
  return side === "after" || isBoth ? op : undefined;
}

/** The sum of the changes, and how many of the rows are noise. */
export function sumsOf(rows: readonly ChangeRow[]): { delta_ns: number; noise: number } {
  return {
    delta_ns: rows.reduce((sum, row) => sum + row.delta_ns, 0),
    noise: rows.filter((row) => row.is_noise).length,
  };
}
