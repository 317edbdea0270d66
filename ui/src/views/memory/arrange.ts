// Rows of one device, filtered and sorted as the server would.

import type { OperatorMemory } from "../../data/wire.ts";

/** The rows, or a sentence on why the filter cannot be used. */
export function arrangeOperators(
  rows: readonly OperatorMemory[],
  device: string,
  filter: string | undefined,
  sort: string,
): OperatorMemory[] | string {
  let wanted: RegExp | undefined;
  try {
    if (filter) wanted = new RegExp(filter);
  } catch {
    return "Invalid regular expression.";
  }
  const kept = rows.filter((row) => row.device === device && (!wanted || wanted.test(row.name)));
  if (sort === "name") return kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const value = (row: OperatorMemory) => {
    const found = row[sort as keyof OperatorMemory];
    return typeof found === "number" ? found : row.self_allocated_bytes;
  };
  return kept.sort((a, b) => value(b) - value(a) || b.self_allocated_bytes - a.self_allocated_bytes);
}
