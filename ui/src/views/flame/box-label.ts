// What to write into a box: the whole name if it fits, else the part that tells most.

import { shortName } from "../../parts/format.ts";

const FRAME = /^(?:.*[\\/])?([^\\/]+\.pyx?)(?:\((\d+)\))?: (.+)$/;
const BUILT_IN = /^<built-in (?:method|function) ([^\s>]+)/;

/** Ways to write a name, the fullest first. */
export function labels(name: string): string[] {
  const full = shortName(name.slice(0, 2000));
  const frame = FRAME.exec(full);
  if (frame) return [full, `${frame[3]} ${frame[1]}${frame[2] ? `:${frame[2]}` : ""}`, frame[3]!];
  const built = BUILT_IN.exec(full);
  if (built) return [full, built[1]!];
  if (full.startsWith("nn.Module: ")) return [full, full.slice(11)];
  if (full.startsWith("autograd: ")) return [full, full.slice(10)];
  return [full];
}

/** The fullest that fits, else as much as there is room for. */
export function fitted(name: string, room: number, measure: (text: string) => number): string {
  const ways = labels(name);
  // No letter is narrower than this, so a long text need not be measured.
  const most = Math.ceil(room / 2);
  for (const way of ways) if (way.length <= most && measure(way) <= room) return way;
  const text = ways[ways.length - 1]!.slice(0, most);
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${text.slice(0, middle)}…`) <= room) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low).trimEnd()}…` : "";
}
