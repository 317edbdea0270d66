// What runs are called: as the server says, with their folder where two would have the same name.

import type { ListedRun } from "../data/types.ts";

/** A name for each run that no other has, as far as their paths differ in their last folder. */
export function runNames(runs: readonly ListedRun[]): Map<number, string> {
  const seen = new Map<string, number>();
  for (const { label } of runs) seen.set(label, (seen.get(label) ?? 0) + 1);
  return new Map(
    runs.map((run) => [run.id, (seen.get(run.label) ?? 0) > 1 ? `${folder(run.path)}${run.label}` : run.label]),
  );
}

function folder(path: string): string {
  const parts = path.split(/[\\/]/);
  const last = parts[parts.length - 2];
  return last ? `${last}/` : "";
}

/** The runs whose label or path has every word of `text`. */
export function matching(all: readonly ListedRun[], text: string): ListedRun[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((r) => words.every((w) => `${r.label} ${r.path}`.toLowerCase().includes(w)));
}
