// What the numbers of this view mean, and what to record where there are none.

import type { Unit } from "../../parts/format.ts";

export const WEIGHTS = ["host", "device", "module"] as const;
export type Weight = (typeof WEIGHTS)[number];

export function weightOf(text: string | undefined): Weight {
  return WEIGHTS.find((weight) => weight === text) ?? "host";
}

export interface WeightWords {
  /** On the button. */
  name: string;
  /** What a node is called, one and many. */
  one: string;
  many: string;
  title: string;
  text: string;
  empty: string;
  hint: string;
  code: string;
}

const BOTH =
  "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True) as prof:\n    train()";

export const WORDS: Record<Weight, WeightWords> = {
  host: {
    name: "Host time",
    one: "Function",
    many: "Functions",
    title: "Host time by stack",
    text: "Time on host threads, each moment attributed to the innermost call on its thread; the frames around it are its callers. Threads add up, so the total can exceed the length of the run. All numbered steps are one frame.",
    empty: "No host calls in this trace.",
    hint: "Record CPU activity too. Use with_stack=True for Python frames.",
    code: BOTH,
  },
  device: {
    name: "Device time",
    one: "Function",
    many: "Functions",
    title: "Device time by launching stack",
    text: "Kernels, copies and memsets below the stack of the call that launched them. Overlapping device work counts in full. All numbered steps are one frame.",
    empty: "No device work in this trace.",
    hint: "Record GPU activity too. Use with_stack=True for Python frames.",
    code: BOTH,
  },
  module: {
    name: "Modules",
    one: "Module",
    many: "Modules",
    title: "Device time by nn.Module",
    text: "Device time of each nn.Module, nested as modules call each other. A module's backward pass is shown below it as (backward). Host time if nothing ran on a device.",
    empty: "No modules in this trace.",
    hint: "Record with with_stack=True or with_modules=True:",
    code: "with profile(activities=[…], with_stack=True) as prof:\n    train()",
  },
};

/** Of a profile, which has stacks and no timeline. */
export function profileWords(unit: Unit): WeightWords {
  const what = { nanoseconds: "Time", samples: "Samples", bytes: "Memory" }[unit];
  return {
    name: what,
    one: "Function",
    many: "Functions",
    title: `${what} by stack`,
    text: "What the profile counts, each stack under its callers. Frames of one function are one, whatever line they were at.",
    empty: "This profile has no stacks.",
    hint: "It counts calls or lines: the overview shows them. A sampling profiler writes stacks.",
    code: "",
  };
}

/** The heading: modules show host time where nothing ran on a device. */
export function titleOf(weight: Weight, clock: "host" | "device"): string {
  return weight === "module" && clock === "host" ? "Host time by nn.Module" : WORDS[weight].title;
}

/** The kinds of nodes among the modules, by the category that gives them their color. */
export const MODULE_KINDS = { module: 0, backward: 2, outside: 15 } as const;

/** Their names, by that category. */
export const MODULE_NAMES: readonly (string | undefined)[] = (() => {
  const names: (string | undefined)[] = [];
  names[MODULE_KINDS.module] = "module";
  names[MODULE_KINDS.backward] = "backward pass";
  names[MODULE_KINDS.outside] = "outside modules";
  return names;
})();

export const DEFINED = {
  self: "Host: time during which this was the innermost call on its thread. Device: duration of the device work itself. Modules: time of the module minus its child modules. Summed over all call sites.",
  total: "Self time plus everything below. Recursive calls count once.",
  count:
    "Host: number of calls. Device: kernels, copies and memsets at or below it. Modules: calls of the module.",
  ofAll: "Share of the total time in the graph.",
  pruned: "Nodes too small to show individually, merged per parent as (N smaller). No time is left out.",
};
