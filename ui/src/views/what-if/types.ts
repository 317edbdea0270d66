// What `what-if` answers.

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
