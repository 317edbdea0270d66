// What the operators view reads from `ops` and `kernels`.

export const PARTS = ["ops", "annotations", "calls"] as const;
export type Part = (typeof PARTS)[number];

export const GROUPS = ["name", "shape", "shape-lists", "stack", "overload"] as const;
export type Group = (typeof GROUPS)[number];

export interface OpRow {
  name: string;
  input_shapes: string | null;
  stack: string[] | null;
  overload: string | null;
  calls: number;
  host_total_ns: number;
  host_self_ns: number;
  device_total_ns: number;
  device_self_ns: number;
  host_mean_ns: number;
  device_mean_ns: number;
  host_memory_bytes: number;
  host_self_memory_bytes: number;
  device_memory_bytes: number;
  device_self_memory_bytes: number;
  flops: number;
  tc_eligible: boolean;
  tc_self_share: number | null;
  tc_total_share: number | null;
}

export interface Totals {
  total_host_self_ns: number;
  total_device_self_ns: number;
  device_time_in_ops_ns: number;
  device_time_in_annotations_ns: number;
  device_time_unlinked_ns: number;
  device_time_elsewhere_ns: number;
  device_time_overlap_ns: number;
  device_time_by_launch_ns: number;
}

export interface OpsAnswer {
  ops: OpRow[];
  totals: Totals;
}
