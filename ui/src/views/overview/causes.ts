// Which causes of the time account mean that the device was idle, and in which order a bar shows them.

import type { CauseRow } from "../../data/account.ts";

/** Whether the device was idle; without a device, only whether nothing is known of the host. */
export function isIdle(row: CauseRow): boolean {
  return row.device === null ? row.cause === "host_unrecorded" : !row.busy;
}

/** The causes as a bar shows them: what was done first, then why nothing was; each largest first. */
export function barOrder(rows: readonly CauseRow[]): CauseRow[] {
  return [...rows].sort((a, b) => Number(isIdle(a)) - Number(isIdle(b)) || b.total_ns - a.total_ns);
}
