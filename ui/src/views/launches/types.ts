// What `launches` answers.

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
