import { expect, test } from "vitest";
import type { PictureHead } from "../../src/data/wire.ts";
import { drawnColors, lineColor, oklch, sizeColor } from "../../src/views/memory/snapshot/colors.ts";
import {
  columnAt,
  decodePicture,
  drawnAt,
  fillPixels,
  type Picture,
  rooms,
} from "../../src/views/memory/snapshot/picture.ts";

/** A picture as the server writes it: by column, the runs from below as [drawn, end row]. */
function picture(columns: [number, number][][], rows: number, shows = columns.map((_, at) => at)): Picture {
  const runs = columns.flat();
  const drawn = Math.max(-1, ...runs.map(([one]) => one)) + 1;
  const place = { function: "step", file: "/a/train.py", line: 7, hash: 12345 };
  const head: PictureHead = {
    axis: "entry",
    from: 0,
    to: shows.length,
    low: 0,
    high: rows * 10,
    columns: shows.length,
    rows,
    states: columns.length,
    runs: runs.length,
    drawn,
    alive: drawn + 3,
    places: [{ place, share: 1 }],
    other_places: 0,
  };
  const text = new TextEncoder().encode(JSON.stringify(head));
  const start = Math.ceil((8 + text.length) / 8) * 8;
  const wide = 3 * columns.length + drawn + shows.length;
  const numbers = 2 * columns.length + shows.length + 2 * drawn + runs.length;
  const buffer = new ArrayBuffer(start + 8 * wide + 4 * numbers + 2 * runs.length);
  const view = new DataView(buffer);
  view.setBigUint64(0, BigInt(text.length), true);
  new Uint8Array(buffer).set(text, 8);
  let at = start;
  const f64 = (value: number) => {
    view.setFloat64(at, value, true);
    at += 8;
  };
  const u32 = (value: number) => {
    view.setUint32(at, value, true);
    at += 4;
  };
  columns.forEach((_, n) => {
    f64(n * 100);
  });
  columns.forEach((column) => {
    f64((column.at(-1)?.[1] ?? 0) * 10);
  });
  columns.forEach(() => {
    f64(rows * 10);
  });
  for (let n = 0; n < drawn; n++) f64(1000 + n);
  for (let n = 0; n < shows.length; n++) f64(n);
  columns.forEach((_, n) => {
    u32(n + 5);
  });
  let first = 0;
  for (const column of columns) {
    u32(first);
    first += column.length;
  }
  shows.forEach(u32);
  for (let n = 0; n < drawn; n++) u32(n + 70);
  for (let n = 0; n < drawn; n++) u32(0);
  for (const [one] of runs) u32(one);
  for (const [, end] of runs) {
    view.setUint16(at, end, true);
    at += 2;
  }
  return decodePicture(buffer);
}

const TWO = [
  [
    [0, 2],
    [1, 5],
  ],
  [[1, 3]],
] as [number, number][][];

test("a picture is read where it lies", () => {
  const it = picture(TWO, 6, [0, 0, 1]);
  expect([...it.state]).toEqual([5, 6]);
  expect([...it.total]).toEqual([50, 30]);
  expect([...it.id]).toEqual([70, 71]);
  expect([...it.bytes]).toEqual([1000, 1001]);
  expect([...it.firstRun]).toEqual([0, 2, 3]);
});

test("a place on the screen is an allocation, or nothing", () => {
  const it = picture(TWO, 6, [0, 0, 1]);
  expect(drawnAt(it, 0.5, 5)).toBe(0);
  expect(drawnAt(it, 1.9, 25)).toBe(1);
  expect(drawnAt(it, 1.9, 55)).toBeUndefined();
  // What was below has ended: the other came down.
  expect(drawnAt(it, 2.1, 5)).toBe(1);
  expect(drawnAt(it, 3.1, 5)).toBeUndefined();
  expect(columnAt(it, -0.1)).toBeUndefined();
});

test("pixels are filled from below, with an edge where there is room", () => {
  const it = picture(
    [
      [
        [0, 1],
        [1, 6],
      ],
    ],
    6,
  );
  const pixels = new Uint32Array(6);
  fillPixels(it, Uint32Array.of(1, 2), Uint32Array.of(8, 9), pixels);
  // The upper row comes first; a band of one row has no edge.
  expect([...pixels]).toEqual([9, 2, 2, 2, 2, 1]);
  const half = picture([[[0, 3]]], 6);
  fillPixels(half, Uint32Array.of(1), Uint32Array.of(8), pixels);
  expect([...pixels]).toEqual([0, 0, 0, 1, 1, 1]);
});

test("a name is written on the longest level stretch", () => {
  const level: [number, number][] = [
    [0, 2],
    [1, 6],
  ];
  const it = picture([level, level, [[1, 4]], level, level, level], 6);
  expect(rooms(it, 3, 2)).toEqual([{ drawn: 1, from: 3, to: 6, low: 2, high: 6 }]);
  expect(rooms(it, 3, 4)).toEqual([]);
});

test("a line has one color in every file, and sizes have an order", () => {
  expect(lineColor(77, false)).toEqual(lineColor(77, false));
  const hues = new Set(Array.from({ length: 200 }, (_, n) => JSON.stringify(lineColor(n * 7919, false))));
  expect(hues.size).toBeGreaterThan(40);
  expect(sizeColor(1, true)).toEqual(sizeColor(4096, true));
  expect(sizeColor(1 << 20, true)).not.toEqual(sizeColor(1 << 30, true));
  expect(oklch(1, 0, 0)).toEqual({ r: 255, g: 255, b: 255 });
  expect(oklch(0, 0, 0)).toEqual({ r: 0, g: 0, b: 0 });
});

test("what is not chosen fades", () => {
  const it = picture(TWO, 6, [0, 0, 1]);
  const look = { by: "line", dark: false, ground: { r: 255, g: 255, b: 255 }, place: undefined } as const;
  const plain = drawnColors(it, { ...look, id: undefined }).colors;
  expect(plain[0]).toBe(plain[1]);
  const chosen = drawnColors(it, { ...look, id: 71 }).colors;
  expect(chosen[1]).toBe(plain[1]);
  expect(chosen[0]).not.toBe(plain[0]);
  // An allocation that is not in the picture fades nothing.
  expect([...drawnColors(it, { ...look, id: 9 }).colors]).toEqual([...plain]);
});
