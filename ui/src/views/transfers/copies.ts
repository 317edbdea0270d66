// Sums and names of copies.

import type { BusRow } from "../../data/wire.ts";
import { word } from "../../parts/key-names.ts";

export interface CopySums {
  calls: number;
  bytes: number;
  total_ns: number;
  exposed_ns: number;
  host_ns: number;
}

export function sums(rows: BusRow[]): CopySums {
  const all: CopySums = { calls: 0, bytes: 0, total_ns: 0, exposed_ns: 0, host_ns: 0 };
  for (const row of rows) for (const key of Object.keys(all) as (keyof CopySums)[]) all[key] += row[key] ?? 0;
  return all;
}

/** What the bus can do, in bytes per second: rows tell their rate and what part of it that is. */
export function busOf(rows: BusRow[]): number | undefined {
  for (const { large_bytes_per_second: rate, of_bus: part } of rows)
    if (rate !== null && part !== null && part > 0) return rate / part;
  return undefined;
}

/** `host to device, pinned`. */
export function copyLabel(row: BusRow, withDevice: boolean): string {
  const memory = row.memory === "unknown" ? "" : `, ${word(row.memory)}`;
  return `${word(row.direction)}${memory}${withDevice ? ` (device ${row.device})` : ""}`;
}
