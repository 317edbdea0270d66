// What the kernels view reads from `kernels`.

import type { CopyRow, KernelRow } from "../../data/wire.ts";

export type { KernelsAnswer, KernelsTotals as KernelTotals } from "../../data/wire.ts";

export const GROUPS = ["name", "op", "launch", "stream", "copies"] as const;
export type Group = (typeof GROUPS)[number];

/** Kernels and copies share a table; what one of them lacks is absent. */
export type Row = Pick<KernelRow, "name" | "calls" | "total_ns"> & Partial<KernelRow> & Partial<CopyRow>;
