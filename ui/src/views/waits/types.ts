// What `waits` answers.

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
