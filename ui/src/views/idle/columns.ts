// Idle time over the run: gaps shared out among columns of equal width.

import type { GapRow } from "../../data/wire.ts";

export interface Strip {
  from: number;
  to: number;
  /** Kinds in the order in which they are stacked. */
  kinds: string[];
  /** By kind, then by column: the part of the column's time that was idle. */
  shares: Float64Array[];
}

/** Every gap's time goes to the columns it covers; several devices are averaged. */
export function stripOf(gaps: GapRow[], from: number, to: number, columns: number, kinds: string[]): Strip {
  const width = (to - from) / columns;
  const shares = kinds.map(() => new Float64Array(columns));
  const devices = Math.max(1, new Set(gaps.map((gap) => gap.device)).size);
  if (!(width > 0)) return { from, to, kinds, shares };
  for (const gap of gaps) {
    const row = shares[kinds.indexOf(gap.kind)];
    if (!row) continue;
    const start = Math.max(from, gap.start_ns);
    const end = Math.min(to, gap.start_ns + gap.idle_ns);
    for (let at = Math.floor((start - from) / width); at < columns && from + at * width < end; at++) {
      const left = from + at * width;
      const covered = Math.min(end, left + width) - Math.max(start, left);
      if (covered > 0) row[at]! += covered / width / devices;
    }
  }
  return { from, to, kinds, shares };
}

/** One filled outline a kind, stacked on those before: `height` is a column that was idle throughout. */
export function outlines(strip: Strip, width: number, height: number): string[] {
  const columns = strip.shares[0]?.length ?? 0;
  const below = new Float64Array(columns);
  const x = (at: number) => ((at / columns) * width).toFixed(1);
  const y = (share: number) => (height - Math.min(1, share) * height).toFixed(1);
  return strip.shares.map((row) => {
    let path = "";
    for (let at = 0; at < columns; at++) {
      const share = row[at]!;
      if (share <= 0) continue;
      path += `M${x(at)} ${y(below[at]!)}V${y(below[at]! + share)}H${x(at + 1)}V${y(below[at]!)}Z`;
      below[at]! += share;
    }
    return path;
  });
}
