// Kinds of recordings, and what each of them has for every view: content, or the sentence that says why there is none.

import { TRACES, type ViewId, XLA } from "./paths.ts";

/** What a view shows when it has something to show. */
export const CONTENT: Record<ViewId, string> = {
  overview: ".verdict-text",
  timeline: ".tl-tracks canvas",
  operators: "table[aria-label=Operators] tbody tr",
  kernels: "table[aria-label='By name'] tbody tr",
  flame: ".flame-graph canvas",
  memory: ".mem-chart",
  modules: "table[aria-label=Modules] tbody tr",
  diagnosis: "table[aria-label='What would help most'] tbody tr",
  compare: "table[aria-label='Changes by place'] tbody tr",
  functions: "table[aria-label=Functions] tbody tr",
  lines: "table[aria-label=Lines] tbody tr",
  code: "table[aria-label=Code] tbody tr",
  hlo: "table[aria-label='By instruction'] tbody tr",
  threads: "table[aria-label=Threads] tbody tr",
  regions: "table[aria-label=Regions] tbody tr",
  phases: "table[aria-label=Phases] tbody tr",
  collectives: "table[aria-label=Collectives] tbody tr",
  serving: "table[aria-label=Iterations] tbody tr",
  graphs: "table[aria-label=Graphs] tbody tr",
  compile: "table[aria-label=Kernels] tbody tr",
  history: ".history-point",
  service: ".sv-sentence",
  source: "table[aria-label=Source] tbody tr",
};

/** What a view says where a recording lacks it. */
export const LACKING = {
  operators: "No operators recorded.",
  kernels: "No kernels in this trace.",
  memory: "No allocations in this trace.",
  modules: "No modules in this trace.",
  diagnosis: "None of the common changes would save anything.",
  compare: "Only one run is open.",
  functions: "No functions here.",
  lines: "This file has no lines.",
  code: "No Python functions in this trace.",
  hlo: "No instruction of a compiled program ran here.",
  threads: "Python's threads were not sampled in this run.",
  regions: "No named ranges in this trace.",
  phases: "No phases in this trace.",
  collectives: "No communication in this trace.",
  serving: "No serving engine in this trace.",
  graphs: "No CUDA graphs in this trace.",
  compile: "Nothing of torch.compile in this trace.",
  history: "No baselines are open here.",
  service: "No service is open here.",
  source: "No file was chosen.",
} as const satisfies Partial<Record<ViewId, string>>;
export type LackedId = keyof typeof LACKING;

export interface Kind {
  paths: readonly string[];
  /** The views that such a recording cannot fill. Every other one must have content. */
  lacks: readonly LackedId[];
}

/** No trace has these: they are about baselines, a service, and a file that was chosen. */
const BESIDE_TRACES = ["history", "service", "source"] as const;
const PYTHON = ["functions", "code"] as const;
/** What only a trace of its own kind has. */
const SPECIAL = ["compare", "hlo", "collectives", "serving", "graphs", "compile"] as const;

export const KINDS = {
  "training in bf16": {
    paths: [TRACES.gpt],
    lacks: [...BESIDE_TRACES, ...PYTHON, "lines", "threads", "modules", ...SPECIAL],
  },
  "with stacks and modules": {
    paths: [TRACES.overloads],
    lacks: [...BESIDE_TRACES, "lines", "threads", ...SPECIAL],
  },
  // Its kernels are NCCL's, but it is of one rank: there was no one to talk to.
  "with NCCL": {
    paths: [TRACES.nccl],
    lacks: [...BESIDE_TRACES, ...PYTHON, "lines", "threads", "memory", "modules", ...SPECIAL],
  },
  "with a fault": {
    paths: [TRACES.fault],
    lacks: [...BESIDE_TRACES, "lines", "threads", "memory", ...SPECIAL],
  },
  "of two ranks": {
    paths: [TRACES.ddp, TRACES.ddpOther],
    lacks: [
      ...BESIDE_TRACES,
      ...PYTHON,
      "lines",
      "threads",
      "memory",
      "modules",
      "hlo",
      "serving",
      "graphs",
      "compile",
    ],
  },
  "with a CUDA graph": {
    paths: [TRACES.graph],
    lacks: [
      ...BESIDE_TRACES,
      ...PYTHON,
      "lines",
      "threads",
      "modules",
      "compare",
      "hlo",
      "collectives",
      "serving",
      "compile",
    ],
  },
  "of compiled training": {
    paths: [TRACES.compiled],
    lacks: [...BESIDE_TRACES, "lines", "threads", "compare", "hlo", "collectives", "serving", "graphs"],
  },
  "of a plain script": {
    paths: [TRACES.growing],
    lacks: [
      ...BESIDE_TRACES,
      "operators",
      "kernels",
      "modules",
      "diagnosis",
      "compare",
      "hlo",
      "regions",
      "phases",
      "collectives",
      "serving",
      "graphs",
      "compile",
    ],
  },
  // The operators of XLA are instructions.
  "of XLA": {
    paths: [XLA],
    lacks: [
      ...BESIDE_TRACES,
      ...PYTHON,
      "operators",
      "lines",
      "threads",
      "modules",
      "compare",
      "regions",
      "collectives",
      "serving",
      "compile",
    ],
  },
  "of a serving engine": {
    paths: [TRACES.serving],
    lacks: [
      ...BESIDE_TRACES,
      ...PYTHON,
      "operators",
      "lines",
      "threads",
      "memory",
      "modules",
      "compare",
      "hlo",
      "collectives",
      "graphs",
      "compile",
    ],
  },
} satisfies Record<string, Kind>;
export type KindName = keyof typeof KINDS;

/** The views that a trace can fill, and the kind of trace that has the most for each. */
export const HOMES: Record<Exclude<ViewId, (typeof BESIDE_TRACES)[number]>, KindName> = {
  overview: "training in bf16",
  timeline: "training in bf16",
  operators: "training in bf16",
  kernels: "training in bf16",
  flame: "with stacks and modules",
  memory: "training in bf16",
  modules: "with stacks and modules",
  diagnosis: "with a fault",
  compare: "of two ranks",
  functions: "with stacks and modules",
  lines: "of a plain script",
  code: "with stacks and modules",
  hlo: "of XLA",
  threads: "of a plain script",
  regions: "training in bf16",
  phases: "training in bf16",
  collectives: "of two ranks",
  serving: "of a serving engine",
  graphs: "with a CUDA graph",
  compile: "of compiled training",
};

/** Views whose content another file looks at, under this name. */
export const ELSEWHERE = {
  compare: ["compare.spec.ts", "the changes"],
  hlo: ["hlo.spec.ts", "hlo"],
  history: ["history.spec.ts", "a history"],
  service: ["production.spec.ts", "a service"],
  source: ["profiles.spec.ts", "source"],
} as const satisfies Partial<Record<ViewId, readonly [file: string, what: string]>>;

/** Whether a kind of recording has content for a view. */
export function has(kind: Kind, view: ViewId): boolean {
  return !(kind.lacks as readonly ViewId[]).includes(view);
}
