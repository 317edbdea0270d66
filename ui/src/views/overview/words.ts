// What a fix saves, in the words of the terminal.

import { about, percent, time } from "../../parts/format.ts";
import type { Finding } from "./types.ts";

/** A smaller share reads as 0.0%. */
const MIN_SHARE = 0.0005;

/** What it would save of the step as it was recorded, and without the profiler; what says nothing is left out. */
export type Saving = { here?: string; bare?: string | undefined };

/** Where steps were timed without the profiler (`measured`), what is saved of those is all that matters; where nothing is
 * saved of the recorded step, too. */
export function saving(finding: Finding, measured: boolean): Saving {
  const [recorded, share] = [finding.saves_share, finding.saves_unprofiled_share];
  const bare =
    share !== null && share >= MIN_SHARE
      ? `${about(finding.saves_unprofiled_ns ?? 0)} (${percent(share)}) without the profiler`
      : undefined;
  if (finding.saves_ns === null) return {};
  if (recorded !== null && (recorded < MIN_SHARE || measured) && (bare || recorded < MIN_SHARE))
    return { bare };
  const here = time(finding.saves_ns) + (recorded === null ? "" : ` (${percent(recorded)})`);
  const same = recorded === null || share === null || Math.abs(recorded - share) <= 0.1 * recorded;
  return same ? { here } : { here, bare };
}

/** The first line of a snippet that changes something. */
export function firstChange(code: string): string | undefined {
  const lines = code.split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "" && !line.startsWith("#")) ?? (lines[0] || undefined);
}
