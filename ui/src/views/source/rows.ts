// One row per line of a source file, with what the run says about the line or about the function that starts there.

import type { SourceFile } from "../../data/wire.ts";

export interface SourceRow {
  line: number;
  text: string | undefined;
  /** The function that starts here, where the run names it. */
  name: string | undefined;
  hits: number | undefined;
  perHit: number | undefined;
  amount: number | undefined;
  share: number;
  wait: number | undefined;
  device: number | undefined;
  /** What another run of the program says: memory beside time, or time beside memory. */
  beside: number | undefined;
}

/** All lines of a file that can be read; else those that the run says something about. */
export function sourceRows(file: SourceFile, beside?: SourceFile): SourceRow[] {
  const texts = file.text?.split(/\r\n|\r|\n/);
  if (texts?.[texts.length - 1] === "") texts.pop();
  const rows = new Map<number, SourceRow>();
  const at = (line: number) => {
    const known = rows.get(line);
    if (known) return known;
    const row: SourceRow = {
      line,
      text: texts?.[line - 1],
      name: undefined,
      hits: undefined,
      perHit: undefined,
      amount: undefined,
      share: 0,
      wait: undefined,
      device: undefined,
      beside: undefined,
    };
    rows.set(line, row);
    return row;
  };
  for (let line = 1; line <= (texts?.length ?? 0); line++) at(line);
  for (const line of file.lines) {
    const row = at(line.line);
    row.hits = line.hits === null ? row.hits : (row.hits ?? 0) + line.hits;
    row.amount = (row.amount ?? 0) + line.amount;
    row.perHit = line.per_hit_ns ?? row.perHit;
    row.share += line.share;
  }
  for (const of of file.functions) {
    if (of.line === null || of.line < 1) continue;
    const row = at(of.line);
    row.name ??= of.name;
    if (of.device_ns !== null) {
      row.wait = (row.wait ?? 0) + (of.device_wait_ns ?? 0);
      row.device = (row.device ?? 0) + of.device_ns;
    }
    // Where lines are known, they say it all.
    if (file.lines.length > 0) continue;
    row.hits = of.calls === null ? row.hits : (row.hits ?? 0) + of.calls;
    row.amount = (row.amount ?? 0) + of.with_callees;
    row.share = Math.min(1, row.share + of.with_callees_share);
  }
  for (const line of beside?.lines ?? []) {
    const row = at(line.line);
    row.beside = (row.beside ?? 0) + line.amount;
  }
  return [...rows.values()].sort((a, b) => a.line - b.line);
}

/** How hot a line is, from 0 to 5, by its share of the hottest; the root spreads small ones. */
export function heat(share: number, most: number): number {
  if (share <= 0 || most <= 0) return 0;
  return Math.max(1, Math.min(5, Math.ceil(Math.sqrt(share / most) * 5)));
}
