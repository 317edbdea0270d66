// What causes are called and what they mean, as the comparison says.

import type { Cause, CauseChange } from "../../data/wire.ts";
import { plain } from "../../parts/format.ts";

export interface CauseWords {
  label(cause: Cause): string;
  text(cause: Cause): string | undefined;
}

/** The words of a comparison; a cause that it does not have is called by its key. */
export function causeWords(causes: readonly CauseChange[]): CauseWords {
  const known = new Map(causes.map((row) => [row.cause, row]));
  return {
    label: (cause) => known.get(cause)?.label ?? plain(cause).toLowerCase(),
    text: (cause) => known.get(cause)?.definition ?? undefined,
  };
}
