// What the HLO view reads from `hlo`.

export type {
  FusedRow,
  HloAnswer,
  HloAround,
  InstructionRow,
  InstructionsTotals,
  NeighborEdge,
  NeighborRow,
  ProgramPlace,
} from "../../data/wire.ts";

export const GROUPS = ["instruction", "category", "line", "path", "program"] as const;
export type Group = (typeof GROUPS)[number];
