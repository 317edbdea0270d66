// Two runs side by side: the same numbers of both, and how far they are apart.

import type { Account, CauseRow, StepsAnswer } from "../../data/account.ts";
import type { GpuAnswer } from "../../data/wire.ts";

export interface RunFigures {
  steps: StepsAnswer;
  gpu: GpuAnswer;
  account: Account;
}

export interface Line {
  label: string;
  unit: "ns" | "share";
  a: number | undefined;
  b: number | undefined;
}

const SHARES = [
  ["utilization", "GPU utilization"],
  ["sm_efficiency", "Est. SM efficiency"],
  ["occupancy", "Est. occupancy"],
  ["tensor_core_share", "Tensor cores"],
] as const;

/** The numbers of the first device of each run, and the mean step. */
export function figureLines(a: RunFigures, b: RunFigures): Line[] {
  const lines: Line[] = [
    { label: "Mean step", unit: "ns", a: a.steps.average?.wall_ns, b: b.steps.average?.wall_ns },
  ];
  for (const [field, label] of SHARES) {
    const line: Line = {
      label,
      unit: "share",
      a: a.gpu.gpu[0]?.[field] ?? undefined,
      b: b.gpu.gpu[0]?.[field] ?? undefined,
    };
    if (line.a !== undefined || line.b !== undefined) lines.push(line);
  }
  return lines;
}

/** The causes of either run on its first device; what changed most comes first. A cause that is absent took no time. */
export function causeLines(a: RunFigures, b: RunFigures): Line[] {
  const labels = new Map<CauseRow["cause"], string>();
  const times = [a, b].map(({ account }) => {
    const device = account.devices[0]?.device;
    const rows = account.causes.filter((c) => c.device === device);
    for (const row of rows) labels.set(row.cause, row.label);
    return new Map(rows.map((row) => [row.cause, row.per_step_ns]));
  });
  const lines = [...labels].map(([cause, label]) => ({
    label,
    unit: "ns" as const,
    a: times[0]?.get(cause) ?? 0,
    b: times[1]?.get(cause) ?? 0,
  }));
  return lines
    .filter((line) => line.a > 0 || line.b > 0)
    .sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
}

/** How B differs from A: as a part of A for times, in points for shares. */
export function change(line: Line): { by: number; relative: number | undefined } | undefined {
  if (line.a === undefined || line.b === undefined) return undefined;
  const by = line.b - line.a;
  return { by, relative: line.a === 0 ? undefined : by / line.a };
}
