// What keys are called, and which color each has. Colors are those of the timeline's categories.

import { causeCategory } from "./causes.ts";

export interface Named {
  label: string;
  category: number;
}

const GAP_KINDS: Record<string, Named> = {
  host_late: { label: "host-bound gap", category: 0 },
  launch_latency: { label: "launch in flight", category: causeCategory("launch_latency") },
  queued_gap: { label: "between queued kernels", category: causeCategory("queued_gap") },
  dependency: { label: "waiting for another stream", category: causeCategory("dependency") },
  end_of_step: { label: "end of step", category: 2 },
  unlinked: { label: "launch not recorded", category: causeCategory("unlinked") },
  unknown: { label: "device work not recorded", category: causeCategory("device_unrecorded") },
};

const CAUSES: Record<string, string> = {
  kernel: "kernels",
  communication: "communication",
  copy: "memcpy",
  fill: "memset",
  memset: "memset",
  host_data_loading: "data loading",
  host_operator: "host in operators",
  host_python: "Python between operators",
  host_launch: "host in launch calls",
  host_synchronization: "host returning from a sync",
  host_allocation: "memory allocation",
  host_runtime: "other runtime calls",
  host_communication: "communication on the host",
  host_compilation: "compilation",
  host_first_use: "first use",
  host_garbage_collection: "garbage collection",
  host_profiler: "profiler",
  device_unrecorded: "unknown: device work not recorded",
  host_unrecorded: "unrecorded host time",
  launch_latency: "launch latency",
  queued_gap: "between queued kernels",
  dependency: "waiting for another stream",
  unlinked: "launch not recorded",
};

const CLASSES: Record<string, Named> = {
  host: { label: "host", category: 0 },
  launch: { label: "launches", category: 3 },
  kernel: { label: "kernels", category: 5 },
  copy: { label: "memcpy and memset", category: 10 },
  communication: { label: "communication", category: 9 },
  data_loading: { label: "data loading", category: 14 },
  synchronization: { label: "returning from a sync", category: 4 },
  allocation: { label: "memory allocation", category: 8 },
  idle: { label: "idle", category: 15 },
};

const WORDS: Record<string, string> = {
  host_to_device: "host to device",
  device_to_host: "device to host",
  device_to_device: "device to device",
  peer: "device to another device",
  blocking_copy: "blocking copy",
  full_queue: "full launch queue",
  host_bus: "host bus",
  no_model: "no model",
  not_recorded: "inputs unknown",
  no_operator: "no operator",
};

/** Why device work has no cost, as a sentence. */
export const REASONS: Record<string, string> = {
  no_model: "Stepscope has no cost model for this operator.",
  not_recorded:
    "The operator's shapes, types or values are missing from the trace or do not fit its model. Record with record_shapes=True.",
  communication: "Communication is limited by the network.",
  no_operator: "Launched before recording began, from a CUDA graph, or outside the framework.",
};

/** A key as a word: those that are not known keep their own, without underscores. */
export function word(key: string): string {
  return WORDS[key] ?? key.replaceAll("_", " ");
}

function named(table: Record<string, Named>, key: string): Named {
  return table[key] ?? { label: word(key), category: 15 };
}

export const gapKind = (key: string): Named => named(GAP_KINDS, key);
export const cause = (key: string): Named => ({
  label: CAUSES[key] ?? word(key),
  category: causeCategory(key),
});
export const pathClass = (key: string): Named => named(CLASSES, key);

/** A step's number; the whole recording where no steps were marked. */
export function stepName(step: number): string {
  return step >= 0 ? String(step) : "whole run";
}

/** The same in a sentence. */
export function stepTitle(step: number): string {
  return step >= 0 ? `step ${step}` : "whole run";
}

/**
 * What a definition says about one key: of `a: this; b, c: that. More.` the part of `b` is `that`. The whole text if it
 * does not name the key so.
 */
export function partOf(text: string | undefined, key: string): string | undefined {
  for (const clause of text?.split(/;\s*|\.(?=\s|$)/) ?? []) {
    const colon = clause.indexOf(":");
    if (colon < 0) continue;
    const keys = clause.slice(0, colon).split(",");
    if (keys.some((one) => one.trim() === key)) return `${clause.slice(colon + 1).trim()}.`;
  }
  return text;
}
