import { describe, expect, it } from "vitest";
import type { HistoryChange, HistoryPoint } from "../../src/data/wire.ts";
import { acrossOf, labelled, levelsOf, scaleOf, shortLabel } from "../../src/views/history/plot.ts";

const point = (value: number, low = value, high = value): HistoryPoint => ({
  measured_at: "2026-01-02T03:04:05Z",
  commit: null,
  subject: null,
  value,
  low,
  high,
  runs: 4,
});
const change = (at: number, before: number, after: number): HistoryChange => ({
  at,
  before,
  after,
  p: 0.001,
  sentence: "",
});

describe("a history", () => {
  it("has a level between every two changes", () => {
    expect(levelsOf(9, [])).toEqual([]);
    expect(levelsOf(9, [change(6, 12, 9), change(3, 10, 12)])).toEqual([
      { from: 0, to: 3, value: 10 },
      { from: 3, to: 6, value: 12 },
      { from: 6, to: 9, value: 9 },
    ]);
    expect(levelsOf(4, [change(0, 10, 12)])).toEqual([{ from: 0, to: 4, value: 12 }]);
  });

  it("has a scale around all of its runs", () => {
    const { low, high, ticks } = scaleOf([point(100, 98, 103), point(104, 101, 110)], 4);
    expect(low).toBeLessThan(98);
    expect(high).toBeGreaterThan(110);
    expect(ticks[0]).toBe(low);
    expect(ticks.at(-1)).toBe(high);
    expect(ticks.length).toBeLessThan(9);
    const still = scaleOf([point(7), point(7)], 4);
    expect(still.low).toBeLessThan(7);
    expect(still.high).toBeGreaterThan(7);
    expect(scaleOf([point(0), point(0)], 4).low).toBe(0);
    expect(scaleOf([point(1, 0, 100)], 4).low).toBe(0);
  });

  it("spreads its measurements and labels some", () => {
    expect([0, 1, 2, 3].map((at) => acrossOf(at, 4, 400))).toEqual([50, 150, 250, 350]);
    expect(labelled(10, 5)).toEqual([0, 2, 4, 6, 8]);
    expect(labelled(3, 5)).toEqual([0, 1, 2]);
    expect(labelled(0, 5)).toEqual([]);
    expect(shortLabel(point(1))).toBe("2026-01-02");
    expect(shortLabel({ ...point(1), commit: "1a2b3c4" })).toBe("1a2b3c4");
  });
});
