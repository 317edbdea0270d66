// What `memory` answers, and a range of time. Moments are nanoseconds since the trace's first event.

import type { BreakdownRow } from "../../data/wire.ts";

export type {
  CurvePoint,
  DeviceMemory,
  Event as MemoryEvent,
  LiveStack,
  MemoryAnswer,
  OperatorMemory,
} from "../../data/wire.ts";

export type StepRow = Pick<BreakdownRow, "step" | "name" | "start_ns" | "wall_ns">;

export interface Span {
  from: number;
  to: number;
}
