// Which changes are put together for one replay: from the URL, to the URL, to the question for the server.

import type { Options } from "../../data/types.ts";

/** The standard changes: the option that asks for each, its name here and in answers. */
export const CHANGES = [
  {
    option: "no-data-loading",
    label: "No data loading",
    words: "no data loading",
    text: "The next batch is always ready.",
  },
  {
    option: "no-sync",
    label: "No synchronization",
    words: "no synchronization",
    text: "No call waits for a device.",
  },
  {
    option: "overlap-transfers",
    label: "Overlap transfers",
    words: "overlapped transfers",
    text: "Copies between host and device overlap with all other work.",
  },
  {
    option: "free-launches",
    label: "Free launches",
    words: "free launches (CUDA graphs)",
    text: "Host work between launches takes no time, as with a CUDA graph.",
  },
  {
    option: "tensor-cores",
    label: "Tensor cores",
    words: "matrix work on tensor cores in bf16",
    text: "FP32 matrix products run in bf16 on tensor cores, as fast as well-tuned kernels do. Overrides a speedup set below.",
  },
] as const;

export type ChangeOption = (typeof CHANGES)[number]["option"];

/** An operator with all it calls, or the kernels whose names contain a text, so many times faster. */
export interface Faster {
  kind: "op" | "kernel";
  name: string;
  speedup: number;
}

export interface Plan {
  changes: ChangeOption[];
  faster: Faster[];
}

/** What means "takes no time": the shortest kernels round to nothing long before. */
export const FREE_SPEEDUP = 1e9;

/** The stops of a slider. */
export const SPEEDUPS = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10, FREE_SPEEDUP] as const;

/** `2×`, or what it means when nothing is left. */
export function speedupLabel(speedup: number): string {
  return speedup >= FREE_SPEEDUP ? "free" : `${speedup}×`;
}

/** A change in words, with what takes no time called so. */
export function readable(words: string): string {
  return words.replaceAll(` ${FREE_SPEEDUP}x faster`, " free");
}

/** The stop nearest to a speedup that came from a URL. */
export function stopOf(speedup: number): number {
  let best = 0;
  SPEEDUPS.forEach((stop, at) => {
    const far = Math.abs(Math.log(stop / speedup));
    if (far < Math.abs(Math.log(SPEEDUPS[best]! / speedup))) best = at;
  });
  return best;
}

export function isEmpty(plan: Plan): boolean {
  return plan.changes.length === 0 && plan.faster.length === 0;
}

// In a URL: `no-sync,free-launches` and `op:2:aten::mm|kernel:3:nvjet`; a bar in a name is written `\p`.

const escaped = (name: string) => name.replaceAll("\\", "\\\\").replaceAll("|", "\\p");
const unescaped = (text: string) => text.replace(/\\(.)/gs, (_, c: string) => (c === "p" ? "|" : c));

/** The plan as parameters of the URL. */
export function toParams(plan: Plan): { change: string | undefined; faster: string | undefined } {
  const faster = plan.faster.map((one) => `${one.kind}:${one.speedup}:${escaped(one.name)}`);
  return { change: plan.changes.join(",") || undefined, faster: faster.join("|") || undefined };
}

/** The plan of a URL; what makes no sense is left out. */
export function fromParams(change: string | undefined, faster: string | undefined): Plan {
  const wanted = new Set((change ?? "").split(","));
  const plan: Plan = {
    changes: CHANGES.map((c) => c.option).filter((option) => wanted.has(option)),
    faster: [],
  };
  for (const text of (faster ?? "").split("|")) {
    const parts = /^(op|kernel):([^:]+):(.+)$/s.exec(text);
    const speedup = Number(parts?.[2]);
    if (!parts || !(speedup > 0) || !Number.isFinite(speedup)) continue;
    plan.faster.push({ kind: parts[1] as Faster["kind"], name: unescaped(parts[3]!), speedup });
  }
  return plan;
}

/** What to ask the server; each name goes right before its speedup. Always in one order, so that equal plans are equal. */
export function optionsOf(plan: Plan, step: string | undefined): Options {
  const options: Options = { step };
  const pairs: [string, string | number][] = [];
  for (const { kind, name, speedup } of plan.faster) pairs.push([kind, name], ["speedup", speedup]);
  if (pairs.length > 0) options.faster = pairs;
  for (const change of plan.changes) options[change] = true;
  return options;
}

/** The plan with an operator or kernel at another speed; as fast as measured takes it out. */
export function withSpeedup(plan: Plan, kind: Faster["kind"], name: string, speedup: number): Plan {
  const same = (one: Faster) => one.kind === kind && one.name === name;
  if (speedup === 1) return { ...plan, faster: plan.faster.filter((one) => !same(one)) };
  const faster = plan.faster.some(same)
    ? plan.faster.map((one) => (same(one) ? { ...one, speedup } : one))
    : [...plan.faster, { kind, name, speedup }];
  return { ...plan, faster };
}

export function withChange(plan: Plan, option: ChangeOption, on: boolean): Plan {
  const wanted = new Set(plan.changes);
  if (on) wanted.add(option);
  else wanted.delete(option);
  return { ...plan, changes: CHANGES.map((c) => c.option).filter((o) => wanted.has(o)) };
}

/** The change that a row of the table of changes names, if the controls can set it. */
export function changeOf(words: string): { option: ChangeOption } | Faster | undefined {
  const standard = CHANGES.find((c) => c.words === words);
  if (standard) return { option: standard.option };
  const faster = /^(.+) (\d+(?:\.\d+)?)x faster$/s.exec(words);
  return faster ? { kind: "op", name: faster[1]!, speedup: Number(faster[2]) } : undefined;
}

/** Whether a row's change is part of the plan. */
export function holds(plan: Plan, words: string): boolean {
  const change = changeOf(words);
  if (!change) return false;
  if ("option" in change) return plan.changes.includes(change.option);
  return plan.faster.some((one) => one.kind === change.kind && one.name === change.name);
}

/** The plan with a row's change put in, or taken out if it is there. */
export function toggled(plan: Plan, words: string): Plan {
  const change = changeOf(words);
  if (!change) return plan;
  const on = !holds(plan, words);
  if ("option" in change) return withChange(plan, change.option, on);
  return withSpeedup(plan, change.kind, change.name, on ? change.speedup : 1);
}
