import { expect, test } from "vitest";
import { entryTicks } from "../../src/views/memory/snapshot/ticks.ts";
import {
  clampWindow,
  isWhole,
  panWindow,
  whole,
  zoomAxis,
  zoomBytes,
} from "../../src/views/memory/snapshot/visible-window.ts";

const extent = { to: 1000, high: 1 << 20 };
const all = whole(extent);

test("what is under the pointer stays there", () => {
  const closer = zoomAxis(all, 0.5, 0.25, extent);
  expect(closer).toEqual({ ...all, from: 125, to: 625 });
  const taller = zoomBytes(all, 0.5, 0, extent);
  expect(taller).toEqual({ ...all, low: 0, high: 1 << 19 });
});

test("nobody leaves the picture, or comes too close", () => {
  expect(zoomAxis(all, 4, 0.5, extent)).toEqual(all);
  expect(panWindow({ ...all, from: 0, to: 100 }, -3, 0, extent)).toMatchObject({ from: 0, to: 100 });
  expect(panWindow({ ...all, from: 0, to: 100 }, 30, 0, extent)).toMatchObject({ from: 900, to: 1000 });
  const close = zoomAxis(all, 1e-9, 0.5, extent);
  expect(close.to - close.from).toBe(8);
  expect(clampWindow({ from: -50, to: 5000, low: -9, high: 9e9 }, extent)).toEqual(all);
  expect(isWhole(all, extent)).toBe(true);
  expect(isWhole(close, extent)).toBe(false);
});

test("events are counted in round numbers", () => {
  expect(entryTicks(0, 1000, 5).map((tick) => tick.label)).toEqual(["0", "200", "400", "600", "800", "1,000"]);
  expect(entryTicks(10, 13, 20).map((tick) => tick.at)).toEqual([10, 11, 12, 13]);
});
