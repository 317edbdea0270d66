// What the commands behind this view answer with, row by row.

export interface KindRow {
  device: number | null;
  kind: string;
  gaps: number;
  idle_ns: number;
  max_ns: number;
  share_of_steps: number;
}

export interface CulpritRow {
  cause: string;
  culprit: string;
  pieces: number;
  idle_ns: number;
  share: number;
}

export interface GapRow {
  device: number | null;
  step: number;
  start_ns: number;
  idle_ns: number;
  kind: string;
  cause: string;
  /** None where the host was not late. */
  culprit: string | null;
  next: string | null;
  stack: string[];
}

export interface StreamRow {
  device: number | null;
  stream: number | null;
  slices: number;
  busy_ns: number;
  host_wait_ns: number;
  kernel_wait_ns: number;
  other_ns: number;
}

export interface Gaps {
  kinds: KindRow[];
  culprits: CulpritRow[];
  gaps: GapRow[];
  streams: StreamRow[];
  totals: { gaps: number; idle_ns: number; wall_ns: number };
}

export interface CauseRow {
  device: number | null;
  cause: string;
  label: string;
  busy: boolean;
  total_ns: number;
  per_step_ns: number;
  share: number;
}

export interface Account {
  causes: CauseRow[];
  devices: { device: number | null; wall_ns: number }[];
  steps: { step: number; device: number | null; wall_ns: number; partial: boolean }[];
  synthetic: boolean;
}

export interface StepSpan {
  step: number;
  start_ns: number;
  wall_ns: number;
  partial: boolean;
}

export interface WaitRow {
  op: string | null;
  call: string;
  kind: string;
  calls: number;
  calls_per_step: number;
  wait_ns: number;
  total_ns: number;
  max_wait_ns: number;
  stack: string[];
  longest_start_ns: number;
}

export interface Waits {
  waits: WaitRow[];
  totals: { calls: number; wait_ns: number; steps: number; wall_ns: number };
}

export interface TransferRow {
  device: number | null;
  direction: string;
  memory: string;
  calls: number;
  bytes: number | null;
  total_ns: number;
  exposed_ns: number;
  host_ns: number;
  bytes_per_second: number | null;
  large_bytes_per_second: number | null;
  of_bus: number | null;
}

export interface LoadingRow {
  step: number;
  wall_ns: number;
  loading_ns: number;
  exposed_ns: number;
}

export interface Loading {
  loading: LoadingRow[];
  operators: { name: string; self_ns: number }[];
  workers: boolean | null;
  range: string | null;
  totals: { loading_ns: number; exposed_ns: number; wall_ns: number };
}

export interface LaunchRow {
  device: number | null;
  launches: number;
  delay_p50_ns: number;
  delay_p95_ns: number;
  delay_max_ns: number;
  latency_ns: number | null;
  call_p50_ns: number;
  calls_ns: number;
  kernels: number;
  short_kernels: number;
  short_kernels_ns: number;
  kernel_p50_ns: number;
  queue_mean: number;
  queue_max: number;
  dry_share: number;
  launch_bound_share: number;
}

export interface CostRow {
  name: string;
  family: string;
  input_shapes: string | null;
  input_types: string | null;
  precision: string | null;
  calls: number;
  kernels: number;
  device_ns: number;
  share: number;
  flops: number;
  bytes: number;
  tflops: number;
  gbs: number;
  intensity: number | null;
  ideal_ns: number | null;
  bound: string | null;
  of_roofline: number | null;
  of_compute_peak: number | null;
  of_bandwidth: number | null;
  note: string | null;
}

export interface UnmodelledRow {
  name: string;
  reason: string;
  kernels: number;
  device_ns: number;
  share: number;
}

export interface MfuRow {
  step: number;
  wall_ns: number;
  partial: boolean;
  model_flops: number;
  precision: string | null;
  peak_tflops: number | null;
  devices: number;
  mfu: number | null;
  hfu: number | null;
}

/** A device's peaks by the maker's figures: TFLOP/s by arithmetic, GB/s of its memory. */
export interface Hardware {
  name: string;
  memory_gbs: number;
  host_bus_gbs: number | null;
  [peak: string]: string | number | null;
}

export interface Roofline {
  roofline: CostRow[];
  unmodelled: UnmodelledRow[];
  steps: MfuRow[];
  devices: { device: number | null; name: string | null; hardware: Hardware | null }[];
  mean_mfu: number | null;
  totals: {
    device_ns: number;
    modelled_ns: number;
    modelled_share: number | null;
    flops: number;
    bytes: number;
    ideal_ns: number | null;
  };
}

export interface PathRow {
  name: string;
  class: string;
  pieces: number;
  on_path_ns: number;
  share: number;
}

export interface CriticalPath {
  classes: { class: string; on_path_ns: number; share: number }[];
  path: PathRow[];
  wall_ns: number;
}

export interface WhatIfRow {
  change: string;
  measured_ns: number;
  predicted_ns: number;
  saves_ns: number;
  saves_share: number;
  speedup: number;
  replay_error: number;
  device_slices_changed: number;
}

export interface ReplayedStep {
  step: number;
  measured_ns: number;
  replayed_ns: number;
  partial: boolean;
}

export interface WhatIf {
  what_if: WhatIfRow[];
  steps: ReplayedStep[];
}
