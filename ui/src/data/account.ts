// What `account` and `steps` answer, as far as several views read it.

export interface CauseRow {
  device: number | null;
  cause: string;
  label: string;
  busy: boolean;
  total_ns: number;
  per_step_ns: number;
  share: number;
}

/** Which steps and devices there are, and why each nanosecond of theirs passed. */
export interface Account {
  causes: CauseRow[];
  devices: { device: number | null; wall_ns: number }[];
  /** Only with `by=step`. */
  steps?: { step: number; device: number | null; wall_ns: number; partial: boolean }[];
  /** No steps were recorded: the whole trace counts as one. */
  synthetic: boolean;
  verdict: { text: string; grade: "good" | "fair" | "poor" } | null;
}

export interface StepSpan {
  step: number;
  start_ns: number;
  wall_ns: number;
  partial: boolean;
}
