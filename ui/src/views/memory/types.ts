// What `memory` answers. Moments are nanoseconds since the trace's first event.

export interface CurvePoint {
  at_ns: number;
  allocated_bytes: number;
  reserved_bytes: number | null;
}

export interface Live {
  operator: string;
  bytes: number;
  count: number | null;
}

export interface LiveStack extends Live {
  /** Innermost first. */
  frames: string[];
}

export interface DeviceMemory {
  device: string;
  device_type: number | null;
  device_id: number | null;
  records: number;
  totals_from_file: boolean;
  lifetimes_from_file: boolean;
  opening_allocated_bytes: number;
  closing_allocated_bytes: number;
  peak_allocated_bytes: number;
  peak_at_ns: number;
  peak_reserved_bytes: number | null;
  peak_reserved_at_ns: number | null;
  allocation_count: number;
  allocated_bytes: number;
  free_count: number;
  freed_bytes: number;
  unmatched_frees: number;
  unmatched_free_bytes: number;
  still_live: number;
  still_live_bytes: number;
  unseen_releases: number;
  level_gaps: number;
  peak_known_bytes: number;
  peak_unknown_bytes: number;
  peak_by_operator: Live[];
  peak_by_stack: LiveStack[];
  curve: CurvePoint[];
  curve_sampled: boolean;
}

export interface OperatorMemory {
  name: string;
  device: string;
  calls: number;
  allocation_count: number;
  allocated_bytes: number;
  freed_bytes: number;
  increase_bytes: number;
  self_allocation_count: number;
  self_allocated_bytes: number;
  self_freed_bytes: number;
  self_increase_bytes: number;
}

export interface MemoryEvent {
  device: string;
  operator: string | null;
  bytes: number;
  address: number | null;
  allocated_at_ns: number | null;
  released_at_ns: number | null;
  duration_ns: number | null;
}

export interface MemoryAnswer {
  devices: DeviceMemory[];
  operators: OperatorMemory[];
  records: number;
}

export interface StepRow {
  step: number;
  name: string;
  start_ns: number;
  wall_ns: number;
}

export interface Span {
  from: number;
  to: number;
}
