// A window of stacked allocations as the server sends it: which allocation each pixel shows. Read in place, not copied.

import type { PictureHead } from "../../../data/wire.ts";

export interface Picture {
  head: PictureHead;
  /** By state that is shown: when it began, what was in use, what was reserved. */
  atNs: Float64Array;
  total: Float64Array;
  reserved: Float64Array;
  state: Uint32Array;
  /** By state: its first run; one more at the end. */
  firstRun: Uint32Array;
  /** By column of pixels: the state it shows. */
  shows: Uint32Array;
  /** By column of pixels: the lowest sum of the moments in it. */
  lowest: Float64Array;
  /** By drawn allocation: bytes, number, and place in `head.places`. */
  bytes: Float64Array;
  id: Uint32Array;
  place: Uint32Array;
  /** By run, from below: which drawn allocation, and the first row above it. */
  runDrawn: Uint32Array;
  endRow: Uint16Array;
}

/** What a picture shows: along the axis, and in bytes. */
export interface Window {
  from: number;
  to: number;
  low: number;
  high: number;
}

export function decodePicture(buffer: ArrayBuffer): Picture {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as PictureHead;
  let at = Math.ceil((8 + length) / 8) * 8;
  const wide = (n: number) => {
    const array = new Float64Array(buffer, at, n);
    at += 8 * n;
    return array;
  };
  const numbers = (n: number) => {
    const array = new Uint32Array(buffer, at, n);
    at += 4 * n;
    return array;
  };
  const [atNs, total, reserved, bytes] = [
    wide(head.states),
    wide(head.states),
    wide(head.states),
    wide(head.drawn),
  ];
  const lowest = wide(head.columns);
  const [state, first, shows] = [numbers(head.states), numbers(head.states), numbers(head.columns)];
  const [id, place, runDrawn] = [numbers(head.drawn), numbers(head.drawn), numbers(head.runs)];
  const firstRun = new Uint32Array(head.states + 1);
  firstRun.set(first);
  firstRun[head.states] = head.runs;
  const endRow = new Uint16Array(buffer, at, head.runs);
  return { head, atNs, total, reserved, bytes, lowest, state, firstRun, shows, id, place, runDrawn, endRow };
}

/** The column of pixels at a place of the axis; `undefined` outside of the picture. */
export function columnAt({ head }: Picture, x: number): number | undefined {
  const column = Math.floor(((x - head.from) / (head.to - head.from)) * head.columns);
  return column >= 0 && column < head.columns ? column : undefined;
}

/** The drawn allocation at a place of the axis and some bytes. */
export function drawnAt(picture: Picture, x: number, y: number): number | undefined {
  const { head } = picture;
  const column = columnAt(picture, x);
  const row = Math.floor(((y - head.low) / (head.high - head.low)) * head.rows);
  if (column === undefined || row < 0 || row >= head.rows) return undefined;
  const shown = picture.shows[column]!;
  let low = picture.firstRun[shown]!;
  let high = picture.firstRun[shown + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (picture.endRow[middle]! <= row) low = middle + 1;
    else high = middle;
  }
  return low < picture.firstRun[shown + 1]! ? picture.runDrawn[low]! : undefined;
}

/** Rows of a band from which its upper edge is drawn. */
const MIN_EDGE_ROWS = 4;

/** Fills pixels, the upper row first. `colors` and `edges` are by drawn allocation, as pixels have them. */
export function fillPixels(
  picture: Picture,
  colors: Uint32Array,
  edges: Uint32Array,
  pixels: Uint32Array,
): void {
  const { columns, rows } = picture.head;
  const { shows, firstRun, runDrawn, endRow } = picture;
  pixels.fill(0);
  for (let column = 0; column < columns; column++) {
    const shown = shows[column]!;
    let row = 0;
    for (let run = firstRun[shown]!; run < firstRun[shown + 1]!; run++) {
      const drawn = runDrawn[run]!;
      const end = endRow[run]!;
      const color = colors[drawn]!;
      const thick = end - row >= MIN_EDGE_ROWS;
      let at = (rows - 1 - row) * columns + column;
      for (; row < end; row++, at -= columns) pixels[at] = color;
      if (thick) pixels[at + columns] = edges[drawn]!;
    }
  }
}

/** A stretch of a band that a name may be written on: columns and rows of the picture. */
export interface Room {
  drawn: number;
  from: number;
  to: number;
  low: number;
  high: number;
}

/** For each band that is tall enough, its longest level stretch. */
export function rooms(picture: Picture, tall: number, wide: number): Room[] {
  const { columns, drawn: count } = picture.head;
  const best: (Room | undefined)[] = new Array(count);
  const now: (Room | undefined)[] = new Array(count);
  const take = (room: Room | undefined) => {
    if (!room || room.to - room.from < wide) return;
    const old = best[room.drawn];
    if (!old || (room.to - room.from) * (room.high - room.low) > (old.to - old.from) * (old.high - old.low))
      best[room.drawn] = room;
  };
  for (let column = 0; column < columns; column++) {
    const shown = picture.shows[column]!;
    let low = 0;
    for (let run = picture.firstRun[shown]!; run < picture.firstRun[shown + 1]!; run++) {
      const drawn = picture.runDrawn[run]!;
      const high = picture.endRow[run]!;
      if (high - low >= tall) {
        const room = now[drawn];
        if (room && room.to === column && room.low === low && room.high === high) room.to++;
        else {
          take(room);
          now[drawn] = { drawn, from: column, to: column + 1, low, high };
        }
      }
      low = high;
    }
  }
  for (const room of now) take(room);
  return best.filter((room) => room !== undefined);
}
