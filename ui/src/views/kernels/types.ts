// What the kernels view reads from `kernels`.

export const GROUPS = ["name", "op", "launch", "stream", "copies"] as const;
export type Group = (typeof GROUPS)[number];

export interface KernelRow {
  name: string;
  op: string | null;
  grid: string | null;
  block: string | null;
  registers: number | null;
  shared_memory_bytes: number | null;
  devices: number[];
  streams: number[];
  calls: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  share: number;
  blocks_per_sm: number | null;
  occupancy_percent: number | null;
  tensor_core: boolean;
}

export interface CopyRow {
  name: string;
  kind: string;
  calls: number;
  bytes: number | null;
  calls_with_bytes: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  bytes_per_second: number | null;
}

/** Kernels and copies share a table; what one of them lacks is absent. */
export type Row = Pick<KernelRow, "name" | "calls" | "total_ns"> & Partial<KernelRow> & Partial<CopyRow>;

export interface KernelTotals {
  kernel_calls: number;
  kernel_ns: number;
  unlinked_ns: number;
  memcpy_ns: number;
  memset_ns: number;
}

export interface KernelsAnswer {
  kernels: KernelRow[];
  totals: KernelTotals;
}
