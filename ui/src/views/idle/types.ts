// What `gaps` answers, row by row.

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
