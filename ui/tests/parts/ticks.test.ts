import { describe, expect, it } from "vitest";
import {
  decades,
  logPosition,
  logTicks,
  niceTicks,
  tickLabel,
  timeTicks,
} from "../../src/parts/charts/ticks.ts";

describe("ticks from zero", () => {
  it("are 1, 2 or 5 times a power of ten and stay within", () => {
    expect(niceTicks(10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(niceTicks(21, 3)).toEqual([0, 10, 20]);
    expect(niceTicks(0.9, 4)).toEqual([0, 0.5]);
    expect(niceTicks(1e9, 4)).toEqual([0, 5e8, 1e9]);
  });
  it("are only zero where there is nothing", () => {
    for (const max of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) expect(niceTicks(max, 4)).toEqual([0]);
  });
});

describe("ticks of time", () => {
  it("stand at round moments, not at round distances from the start", () => {
    const ticks = timeTicks(7_300_000, 12_100_000, 5);
    expect(ticks.map((t) => t.at)).toEqual([8e6, 9e6, 10e6, 11e6, 12e6]);
    expect(ticks.map((t) => t.label)).toEqual(["8 ms", "9 ms", "10 ms", "11 ms", "12 ms"]);
  });
  it("tell neighbours apart far from the start", () => {
    const labels = timeTicks(3_000_000_000, 3_000_400_000, 4).map((t) => t.label);
    expect(new Set(labels).size).toBe(labels.length);
    expect(labels[0]).toBe("3.0000 s");
    expect(labels[1]).toBe("3.0001 s");
  });
  it("are none for an empty span", () => {
    expect(timeTicks(5, 5, 4)).toEqual([]);
    expect(timeTicks(0, Number.POSITIVE_INFINITY, 4)).toEqual([]);
  });
});

describe("logarithmic ticks", () => {
  it("hold every digit between, powers of ten marked", () => {
    const ticks = logTicks(0.1, 10);
    expect(ticks.filter((t) => t.major).map((t) => t.value)).toEqual([0.1, 1, 10]);
    expect(ticks.filter((t) => !t.major)).toHaveLength(16);
    expect(ticks.map((t) => t.value)).toContain(0.3);
  });
  it("begin and end inside the axis", () => {
    expect(logTicks(20, 50).map((t) => t.value)).toEqual([20, 30, 40, 50]);
  });
  it("are none where there is no logarithm", () => {
    expect(logTicks(0, 10)).toEqual([]);
    expect(logTicks(10, 1)).toEqual([]);
    expect(logTicks(1, Number.POSITIVE_INFINITY)).toEqual([]);
  });
  it("are written as people read powers of ten", () => {
    expect([0.001, 0.1, 1, 1000, 10_000, 1e6, 1e-5].map(tickLabel)).toEqual([
      "0.001",
      "0.1",
      "1",
      "1,000",
      "10,000",
      "1e6",
      "1e-5",
    ]);
  });
});

describe("a logarithmic axis", () => {
  it("spans whole decades around what it shows", () => {
    expect(decades([3, 250])).toEqual([1, 1000]);
    expect(decades([10, 10])).toEqual([10, 100]);
    expect(decades([0, -4, Number.NaN, 0.02])).toEqual([0.01, 0.1]);
    expect(decades([0])).toBeUndefined();
  });
  it("gives equal lengths to equal factors and clamps the rest", () => {
    expect(logPosition(1, 0.1, 10, 200)).toBeCloseTo(100);
    expect(logPosition(10, 1, 1000, 300)).toBeCloseTo(100);
    expect(logPosition(0, 1, 1000, 300)).toBe(0);
    expect(logPosition(5000, 1, 1000, 300)).toBe(300);
  });
});
