// What the overview reads from the answers.

export type { StepRow, StepsAnswer } from "../../data/account.ts";
export type {
  Amount,
  Finding,
  FindingsAnswer,
  GpuAnswer,
  GpuRow,
  HeapLineRow,
  HotFunction,
  HotLine,
  InfoAnswer,
  InfoOfProfile,
  NoteInfo as Note,
  RooflineAnswer as Roofline,
  RunInfo as Info,
  Severity,
  SummaryAnswer as Summary,
  SummaryOfHeap,
  SummaryOfProfile,
  TopRow,
} from "../../data/wire.ts";

/** The parts of a step; they add up to its wall time. */
export const PARTS = [
  { field: "kernel_ns", category: 5 },
  { field: "memcpy_ns", category: 10 },
  { field: "memset_ns", category: 11 },
  { field: "communication_ns", category: 9 },
  { field: "runtime_ns", category: 3 },
  { field: "data_loading_ns", category: 14 },
  { field: "host_ns", category: 0 },
  { field: "other_ns", category: 15 },
] as const;

export type PartField = (typeof PARTS)[number]["field"];
export type PartTimes = Record<PartField, number>;
