// What the overview reads from the answers.

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

export interface StepRow extends PartTimes {
  step: number;
  name: string;
  start_ns: number;
  wall_ns: number;
  gpu_busy_ns: number;
  partial: boolean;
  partial_reason: string | null;
}

export interface StepsAnswer {
  steps: StepRow[];
  average: (PartTimes & { wall_ns: number; gpu_busy_ns: number }) | null;
  /** No steps were recorded: the whole trace counts as one. */
  synthetic: boolean;
  device_slices_outside: number;
}

export interface GpuRow {
  device: number | null;
  name: string | null;
  window_ns: number;
  utilization: number | null;
  sm_efficiency: number | null;
  occupancy: number | null;
  tensor_core_share: number | null;
  eligible_share: number | null;
}

export interface Note {
  code: string;
  severity: "info" | "repaired" | "lost";
  count: number;
  sentence: string;
  offsets: number[];
  detail: string;
}

export interface Info {
  path: string;
  format: string;
  stored_bytes: number;
  text_bytes: number;
  worker: string | null;
  framework: string | null;
  framework_version: string | null;
  versions: [string, string][];
  devices: {
    index: number;
    name: string | null;
    total_memory_bytes: number | null;
    compute_capability: string | null;
    sms: number | null;
  }[];
  distributed: {
    backend: string | null;
    rank: number | null;
    world_size: number | null;
    nccl_version: string | null;
  } | null;
  options: Record<string, boolean | null>;
  extent_ns: number;
  steps: string[];
  processes: number;
  threads: number;
  streams: number;
  notes: Note[];
  ledger: {
    events_in_file: number;
    slices: number;
    joined_pairs: number;
    points: number;
    flows: number;
    set_aside: number;
    skipped_bytes: number;
    closes: boolean;
  };
}

export type Severity = "high" | "medium" | "low" | "info";

export type Amount =
  | { unit: "ns" | "share" | "count" | "bytes" | "bytes_per_second" | "number"; value: number }
  | { unit: "text"; value: string };

export interface Finding {
  rule: string;
  title: string;
  severity: Severity;
  confidence: "high" | "medium" | "low";
  saves_ns: number | null;
  saves_share: number | null;
  estimate: "replay" | "model" | "upper_bound" | "none";
  evidence: { label: string; value: Amount; definition: string }[];
  why: string;
  fix: string;
  code: string | null;
  verify: string;
  source: string | null;
  slices: { name: string; start_ns: number; dur_ns: number; slice: number }[];
  range_ns: [number, number] | null;
}

export interface FindingsAnswer {
  findings: Finding[];
  step_ns: number;
  steps: number;
}
