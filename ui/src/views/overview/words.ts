// How long a step takes and what a fix saves, in the words of the terminal.

import { about, aboutRange, percent, time } from "../../parts/format.ts";
import type { Finding, FindingsAnswer } from "./types.ts";

type StepTimes = Pick<
  FindingsAnswer,
  "step_ns" | "unprofiled_step_ns" | "unprofiled_step_low_ns" | "unprofiled_step_high_ns"
>;

/** `39.14 ms per step here, about 25 ms (23 to 28 ms) without the profiler`. */
export function stepWords(of: StepTimes, synthetic: boolean, unmeasured = false): string {
  const here = `${time(of.step_ns)} ${synthetic ? "in total" : "per step"}`;
  // The cost of recording is known for PyTorch's profiler alone.
  if (unmeasured) return `${here} here; what the profiler adds to it is unknown`;
  if (of.unprofiled_step_ns > 0.95 * of.step_ns) return `${here}; the profiler adds little overhead`;
  const { unprofiled_step_low_ns: low, unprofiled_step_high_ns: high } = of;
  const range = about(low) === about(high) ? "" : ` (${aboutRange(low, high)})`;
  return `${here} here, about ${about(of.unprofiled_step_ns)}${range} without the profiler`;
}

/** What it would save without the profiler, where that is another share. */
export function unprofiledWords(finding: Finding): string | undefined {
  const [recorded, share] = [finding.saves_share, finding.saves_unprofiled_share];
  if (recorded === null || share === null || Math.abs(recorded - share) <= 0.1 * recorded) return undefined;
  return `${about(finding.saves_unprofiled_ns ?? 0)} (${percent(share)}) without the profiler`;
}

/** The first line of a snippet that changes something. */
export function firstChange(code: string): string | undefined {
  const lines = code.split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "" && !line.startsWith("#")) ?? (lines[0] || undefined);
}
