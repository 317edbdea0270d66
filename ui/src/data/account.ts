// What `account` and `steps` answer: several views read it.

import type { StepsAnswer as AnyStepsAnswer, BreakdownRow } from "./wire.ts";

export type { AccountAnswer as Account, BreakdownRow as StepRow, CauseRow } from "./wire.ts";

/** `steps` as the page asks for it: one row per step, not one per step and device. */
export interface StepsAnswer extends AnyStepsAnswer {
  steps: BreakdownRow[];
}

export type StepSpan = Pick<BreakdownRow, "step" | "start_ns" | "wall_ns" | "partial">;
