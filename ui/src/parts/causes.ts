// How the causes of the time account look: the color of what was done or waited for.

const CATEGORY: Record<string, number> = {
  kernel: 5,
  communication: 9,
  copy: 10,
  fill: 11,
  host_data_loading: 14,
  host_operator: 0,
  host_python: 1,
  host_launch: 3,
  host_synchronization: 4,
  host_allocation: 6,
  host_runtime: 3,
  host_communication: 9,
  host_compilation: 2,
  host_first_use: 2,
  host_garbage_collection: 8,
  host_profiler: 12,
  device_unrecorded: 15,
  host_unrecorded: 15,
  launch_latency: 8,
  queued_gap: 12,
  dependency: 6,
  unlinked: 15,
};

export function causeCategory(cause: string): number {
  return CATEGORY[cause] ?? 15;
}
