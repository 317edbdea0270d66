// What the operators view reads from `ops` and `kernels`.

export type { KernelsAnswer, OpRow, OpsAnswer, OpsTotals as Totals } from "../../data/wire.ts";

export const PARTS = ["ops", "annotations", "calls"] as const;
export type Part = (typeof PARTS)[number];

export const GROUPS = ["name", "shape", "shape-lists", "stack", "overload"] as const;
export type Group = (typeof GROUPS)[number];
