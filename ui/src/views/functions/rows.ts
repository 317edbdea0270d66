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
  const usual = (field: string) => ({ field, usual: true });
  const unusual = (field: string) => ({ field, usual: false });
  return [
    { field: "name", label: "Function", usual: true, fixed: true },
    ...(counted ? [usual("calls")] : []),
    ...(owned ? [usual(`self_${ending}`), usual("self_share")] : []),
    ...(counted ? [unusual("self_per_call_ns")] : []),
    usual(`total_${ending}`),
    usual("total_share"),
    ...(counted ? [unusual("total_per_call_ns")] : []),
    ...(waits ? [usual("waiting_ns")] : []),
    { field: "file", label: "Where", usual: true },
  ];
}

/** What finds this function alone among callers and callees: they are looked for in `file:line(name)`. */
export function exactFunction(row: Pick<FunctionRow, "name" | "file" | "line">): string {
  const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  if (row.file === null) return `^${quoted(row.name)}$`;
  const place = row.line === null ? row.file : `${row.file}:${row.line}`;
  return `^${quoted(`${place}(${row.name})`)}$`;
}
