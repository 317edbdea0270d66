// A number with its noun.

import { count } from "../../../parts/format.ts";

/** `1 segment`, `2 segments`. */
export function many(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
