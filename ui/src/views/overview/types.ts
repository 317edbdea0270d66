// What the overview reads from the answers.

export type { StepRow, StepsAnswer } from "../../data/account.ts";
export type {
  Figure as Amount,
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
  Report as Info,
  RooflineAnswer as Roofline,
  Severity,
  SummaryAnswer as Summary,
  SummaryOfHeap,
  SummaryOfProfile,
  TopRow,
} from "../../data/wire.ts";

/** The parts of a step; they add up to its wall time. */
export const PARTS = [
  { field: "kernel_ns", label: "Kernel", category: 5 },
  { field: "memcpy_ns", label: "Memcpy", category: 10 },
  { field: "memset_ns", label: "Memset", category: 11 },
  { field: "communication_ns", label: "Communication", category: 9 },
  { field: "runtime_ns", label: "Runtime", category: 3 },
  { field: "data_loading_ns", label: "Data loading", category: 14 },
  { field: "host_ns", label: "Host", category: 0 },
  { field: "other_ns", label: "Other", category: 15 },
] as const;

export type PartField = (typeof PARTS)[number]["field"];
export type PartTimes = Record<PartField, number>;
