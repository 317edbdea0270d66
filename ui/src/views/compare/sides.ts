// Which recordings are compared: `a=0,2` in the URL is the first side's, its first recording is the one that is drawn. Pure.

/** More are not kept in memory at once. */
export const MAX_RECORDINGS = 6;

/** The recordings of a side as the URL names them; none if it names none that is there. */
export function parseSide(text: string | undefined, known: readonly number[]): number[] | undefined {
  const ids: number[] = [];
  for (const part of (text ?? "").split(",")) {
    const id = /^\d+$/.test(part) ? Number(part) : Number.NaN;
    if (known.includes(id) && !ids.includes(id)) ids.push(id);
  }
  return ids.length > 0 ? ids.slice(0, MAX_RECORDINGS) : undefined;
}

/** Both sides: what the URL names, else the run looked at and the first other one. */
export function sidesOf(
  a: string | undefined,
  b: string | undefined,
  known: readonly number[],
  current: number | undefined,
): [number[], number[]] | undefined {
  const before = parseSide(a, known) ?? (current === undefined ? undefined : [current]);
  if (!before) return undefined;
  const other = known.find((id) => !before.includes(id));
  const after = parseSide(b, known) ?? (other === undefined ? undefined : [other]);
  return after && [before, after];
}

/** The side with another first recording. */
export function withFirst(side: readonly number[], first: number): number[] {
  return [first, ...side.slice(1).filter((id) => id !== first)];
}

/** The side with a recording more or less; the first one stays. */
export function toggled(side: readonly number[], id: number): number[] {
  if (id === side[0]) return [...side];
  return side.includes(id) ? side.filter((one) => one !== id) : [...side, id];
}
