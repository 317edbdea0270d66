// Steps as bars: a few thousand would be thinner than a pixel, so neighbors share a bar and the bar says so.

import type { Partial } from "../../../data/wire.ts";
import { PARTS, type PartField, type PartTimes, type StepRow } from "../types.ts";

const REASONS: Readonly<Record<Partial, string>> = {
  no_device_work: "it launched no device work, as those before it did",
  little_device_work: "the recording ended before all of its device work",
  cut: "the recording ended in it",
  pause: "a pause, such as a validation or a checkpoint",
};

/** The most bars a chart draws. */
export const MAX_BARS = 400;

export interface StepBar {
  first: number;
  last: number;
  /** How many steps the bar represents. */
  steps: number;
  /** Means over these steps. */
  wall_ns: number;
  parts: PartTimes;
  longest: StepRow;
  /** Why a step of it is not whole; empty if all are. */
  partial: string[];
}

/** One bar a step, or one bar for each run of equally many neighbors. */
export function barsOf(steps: readonly StepRow[], most = MAX_BARS): StepBar[] {
  const size = Math.max(1, Math.ceil(steps.length / most));
  const bars: StepBar[] = [];
  for (let at = 0; at < steps.length; at += size) bars.push(bar(steps.slice(at, at + size)));
  return bars;
}

function bar(steps: readonly StepRow[]): StepBar {
  const first = steps[0] as StepRow;
  let longest = first;
  for (const step of steps) if (step.wall_ns > longest.wall_ns) longest = step;
  const mean = (field: PartField | "wall_ns") => sum(steps.map((s) => s[field])) / steps.length;
  return {
    first: first.step,
    last: (steps[steps.length - 1] as StepRow).step,
    steps: steps.length,
    wall_ns: mean("wall_ns"),
    parts: Object.fromEntries(PARTS.map(({ field }) => [field, mean(field)])) as PartTimes,
    longest,
    partial: steps.filter((s) => s.partial).map((s) => REASONS[s.partial_reason ?? "cut"]),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** A bar's steps as `--step` takes them: `7` or `3-5`. */
export function stepsText(bar: StepBar): string {
  return bar.first === bar.last ? String(bar.first) : `${bar.first}-${bar.last}`;
}

/** Whether the steps chosen in the URL (`7`, `3,5`, `2-4`) have one of this bar. */
export function isChosen(bar: StepBar, text: string | undefined): boolean {
  if (text === undefined) return false;
  return text.split(",").some((part) => {
    const [from, to = from] = part.split("-").map(Number);
    return from !== undefined && to !== undefined && from <= bar.last && to >= bar.first;
  });
}

/** The parts that any step has, in the order they are stacked. */
export function partsSeen(steps: readonly StepRow[]) {
  return PARTS.filter(({ field }) => steps.some((step) => step[field] > 0));
}
