// What keys are called, and which color each has. Colors are those of the timeline's categories.

import { LABELS } from "../data/wire.ts";
import { causeCategory } from "./causes.ts";

export interface Named {
  label: string;
  category: number;
}

const GAP_CATEGORIES: Record<string, number> = {
  host_late: 0,
  launch_latency: causeCategory("launch_latency"),
  queued_gap: causeCategory("queued_gap"),
  dependency: causeCategory("dependency"),
  end_of_step: 2,
  unlinked: causeCategory("unlinked"),
  unknown: causeCategory("device_unrecorded"),
};

const PATH_CATEGORIES: Record<string, number> = {
  host: 0,
  launch: 3,
  kernel: 5,
  copy: 10,
  communication: 9,
  data_loading: 14,
  synchronization: 4,
  allocation: 8,
};

const OTHER_CATEGORY = 15;

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

function named(labels: Record<string, string>, key: string, category: number | undefined): Named {
  return { label: labels[key] ?? word(key), category: category ?? OTHER_CATEGORY };
}

export const gapKind = (key: string): Named => named(LABELS.gap, key, GAP_CATEGORIES[key]);
export const cause = (key: string): Named => named(LABELS.cause, key, causeCategory(key));
export const pathClass = (key: string): Named => named(LABELS.path, key, PATH_CATEGORIES[key]);

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
