// What the HLO view reads from `hlo`.

import type { FusedRow, HloAnswer, InstructionRow, NeighborRow } from "../../data/wire.ts";

export type { InstructionsTotals, NeighborEdge, ProgramPlace } from "../../data/wire.ts";
export type { FusedRow, HloAnswer, InstructionRow, NeighborRow };

export const GROUPS = ["instruction", "category", "line", "path", "program"] as const;
export type Group = (typeof GROUPS)[number];
