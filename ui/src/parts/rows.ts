// Which rows of a long table are in sight, and where they lie. One row may be open: what is below it has a height of its own.

export const ROW_PX = 28;
/** The height of the head above the rows. */
export const HEAD_PX = 32;
const SPARE_ROWS = 12;

export interface Opened {
  index: number;
  height: number;
}

/** Where a row begins, from the top of the first one. */
export function rowTop(index: number, opened: Opened | undefined): number {
  return index * ROW_PX + (opened && index > opened.index ? opened.height : 0);
}

/** The row at a height. */
export function rowAt(y: number, opened: Opened | undefined): number {
  if (!opened || y < (opened.index + 1) * ROW_PX) return Math.floor(y / ROW_PX);
  return Math.max(opened.index, Math.floor((y - opened.height) / ROW_PX));
}

/** The rows to have in the page, `first..last`, with some to spare on both sides. */
export function inSight(
  top: number,
  room: number,
  total: number,
  opened: Opened | undefined,
): { first: number; last: number } {
  const first = Math.max(0, Math.min(total, rowAt(top, opened)) - SPARE_ROWS);
  const last = Math.min(total, rowAt(top + room, opened) + 1 + SPARE_ROWS);
  return { first, last: Math.max(first, last) };
}
