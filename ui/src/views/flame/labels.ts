// What the figures of this view mean, and what to record where there are none.

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
    text: "The time of the host's threads, each moment given to the innermost call open on its thread. The frames around it say who called it. Threads are added up, so the sum may exceed the length of the run. All numbered steps are one frame.",
    empty: "No host calls in this trace.",
    hint: "Record the CPU too. Python frames appear with with_stack=True.",
    code: BOTH,
  },
  device: {
    name: "Device time",
    one: "Function",
    many: "Functions",
    title: "Device time by launching stack",
    text: "Kernels, copies and fills below the stack of the call that launched them. Work that overlaps on the device counts in full. All numbered steps are one frame.",
    empty: "No device work in this trace.",
    hint: "Record the device too. Python frames appear with with_stack=True.",
    code: BOTH,
  },
  module: {
    name: "Modules",
    one: "Module",
    many: "Modules",
    title: "Device time by nn.Module",
    text: "Device time of each nn.Module, as the modules call each other. The backward pass of a module stands below it as (backward). Host time where nothing ran on a device.",
    empty: "No modules in this trace.",
    hint: "Record with with_stack=True (or with_modules=True) to see them.",
    code: "with profile(activities=[…], with_stack=True) as prof:\n    train()",
  },
};

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
  names[MODULE_KINDS.backward] = "its backward pass";
  names[MODULE_KINDS.outside] = "outside modules";
  return names;
})();

export const DEFINED = {
  self: "Host: time in which this was the innermost call of its thread. Device: the duration of the device work itself. Modules: time of the module less that of its child modules. Summed over all places.",
  total: "Its own time and that of everything below it. A call inside a call of the same name counts once.",
  count:
    "Host: how many calls. Device: kernels, copies and fills at or below it. Modules: calls of the module.",
  ofAll: "Share of all the time in the picture.",
  pruned:
    "Nodes too small to be shown one by one. Those of one parent stand together as (N smaller); no time is left out.",
};
