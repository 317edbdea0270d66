// What rows of functions hold, and which columns they have.

import type { EdgeRow, FunctionRow } from "../../data/wire.ts";
import type { ColumnChoice } from "../../parts/columns.tsx";
import type { Unit } from "../../parts/format.ts";

export type { EdgeRow, FunctionRow };

export function own(row: FunctionRow): number {
  return row.self_ns ?? row.self_samples ?? row.self_bytes ?? 0;
}

export function total(row: FunctionRow | EdgeRow): number {
  return row.total_ns ?? row.total_samples ?? row.total_bytes ?? 0;
}

/** The columns that a profile in this unit has: calls and waiting only where they are known. */
export function choicesOf(rows: readonly FunctionRow[], unit: Unit): ColumnChoice[] {
  const ending = unit === "nanoseconds" ? "ns" : unit;
  const counted = rows.some((row) => row.calls !== null);
  const owned = rows.some((row) => own(row) !== 0);
  const waits = rows.some((row) => (row.waiting_ns ?? 0) > 0);
  const column = (field: string, label: string, usual: boolean, fixed = false): ColumnChoice => ({
    field,
    label,
    usual,
    fixed,
  });
  return [
    column("name", "Function", true, true),
    ...(counted ? [column("calls", "Calls", true)] : []),
    ...(owned ? [column(`self_${ending}`, "Self", true), column("self_share", "Self %", true)] : []),
    ...(counted ? [column("self_per_call_ns", "Self per call", false)] : []),
    column(`total_${ending}`, "Total", true),
    column("total_share", "Total %", true),
    ...(counted ? [column("total_per_call_ns", "Total per call", false)] : []),
    ...(waits ? [column("waiting_ns", "Waiting", true)] : []),
    column("file", "Where", true),
  ];
}

/** What finds this function alone among callers and callees: they are looked for in `file:line(name)`. */
export function exactFunction(row: Pick<FunctionRow, "name" | "file" | "line">): string {
  const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  if (row.file === null) return `^${quoted(row.name)}$`;
  const place = row.line === null ? row.file : `${row.file}:${row.line}`;
  return `^${quoted(`${place}(${row.name})`)}$`;
}
