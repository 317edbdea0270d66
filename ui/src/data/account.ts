// What `account` and `steps` answer: several views read it.

import type { BreakdownRow } from "./wire.ts";

export type { AccountAnswer as Account, BreakdownRow as StepRow, CauseRow, StepsAnswer } from "./wire.ts";

export type StepSpan = Pick<BreakdownRow, "step" | "start_ns" | "wall_ns" | "partial">;
