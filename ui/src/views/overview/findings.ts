// Findings: how their numbers are written, which of them are open.

import { bytes, bytesPerSecond, count, digits, percent, time } from "../../parts/format.ts";
import type { Amount, Finding } from "./types.ts";

export function amount({ unit, value }: Amount): string {
  switch (unit) {
    case "ns":
      return time(value);
    case "share":
      return percent(value);
    case "bytes":
      return bytes(value);
    case "bytes_per_second":
      return bytesPerSecond(value);
    case "count":
      return count(value);
    case "number":
      return digits(value);
    case "text":
      return value;
  }
}

/** The key of each finding: its rule, with a number where a rule speaks twice. */
export function keysOf(findings: readonly Finding[]): string[] {
  const seen = new Map<string, number>();
  return findings.map(({ rule }) => {
    const n = (seen.get(rule) ?? 0) + 1;
    seen.set(rule, n);
    return n === 1 ? rule : `${rule}.${n}`;
  });
}

/** The open ones, as the URL says. */
export function openKeys(keys: readonly string[], text: string | undefined): Set<string> {
  return new Set((text ?? "").split(",").filter((key) => keys.includes(key)));
}

/** The URL after one was opened or closed. */
export function toggledKeys(
  keys: readonly string[],
  text: string | undefined,
  key: string,
): string | undefined {
  const open = openKeys(keys, text);
  if (!open.delete(key)) open.add(key);
  return keys.filter((k) => open.has(k)).join(",") || undefined;
}
