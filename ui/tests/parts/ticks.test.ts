import { describe, expect, it } from "vitest";
import {
  byteLabel,
  byteTicks,
  decades,
  logLabel,
  logPosition,
  logTicks,
  roundLabel,
  roundStep,
  ticksAround,
  ticksWithin,
  timeLabel,
  timeTicks,
} from "../../src/parts/charts/ticks.ts";
import { percent } from "../../src/parts/format.ts";

describe("ticks from zero", () => {
  it("are 1, 2 or 5 times a power of ten and stay within", () => {
    expect(ticksWithin(10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticksWithin(21, 3)).toEqual([0, 10, 20]);
    expect(ticksWithin(0.9, 4)).toEqual([0, 0.5]);
    expect(ticksWithin(1e9, 4)).toEqual([0, 5e8, 1e9]);
  });
  it("are only zero where there is nothing", () => {
    for (const max of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) expect(ticksWithin(max, 4)).toEqual([0]);
  });
});

describe("a round step", () => {
  it("is the least of 1, 2, 5, 10… that is not below what is asked for", () => {
    expect([0.3, 1, 1.01, 2, 3, 5, 7, 10, 4.1e6].map(roundStep)).toEqual([0.5, 1, 2, 2, 5, 5, 10, 10, 5e6]);
  });
});

describe("ticks that reach above the highest", () => {
  it("end at it or right above", () => {
    expect(ticksAround(43.4e6, 5)).toEqual([0, 10e6, 20e6, 30e6, 40e6, 50e6]);
    expect(ticksAround(50e6, 5)).toEqual([0, 10e6, 20e6, 30e6, 40e6, 50e6]);
    expect(ticksAround(8.3e6, 5).at(-1)).toBeGreaterThanOrEqual(8.3e6);
    expect(ticksAround(0, 5)).toEqual([0]);
  });
});

describe("ticks of bytes", () => {
  it("are powers of two apart", () => {
    expect(byteTicks(0, 3 * 2 ** 30, 4)).toEqual([0, 2 ** 30, 2 * 2 ** 30, 3 * 2 ** 30]);
    expect(byteTicks(0, 1.5 * 2 ** 30, 3)).toEqual([0, 2 ** 29, 2 ** 30, 3 * 2 ** 29]);
    expect(byteTicks(-700, 1000, 3)).toEqual([0]);
    expect(byteTicks(0, 0, 4)).toEqual([0]);
  });
  it("are written without digits that say nothing", () => {
    expect([0, 3 * 2 ** 30, 1.5 * 2 ** 30, 100 * 2 ** 20, 512].map(byteLabel)).toEqual([
      "0",
      "3 GiB",
      "1.5 GiB",
      "100 MiB",
      "512 B",
    ]);
    expect([0, 0.5, 1, 0.125].map(roundLabel(percent))).toEqual(["0", "50%", "100%", "12.5%"]);
  });
});

describe("a moment", () => {
  it("has as many digits as its neighbors need", () => {
    expect(timeLabel(20_000_000, 10_000_000, 100_000_000)).toBe("20 ms");
    expect(timeLabel(428_439_400, 200, 428_441_000)).toBe("428.4394 ms");
    expect(timeLabel(0, 1000, 50_000)).toBe("0 µs");
    expect(timeLabel(-1e-9, 1000, 50_000)).toBe("0 µs");
    expect(timeLabel(12, 5, 40)).toBe("12 ns");
  });
});

describe("ticks of time", () => {
  it("stand at round moments, not at round distances from the start", () => {
    const ticks = timeTicks(7_300_000, 12_100_000, 5);
    expect(ticks.map((t) => t.at)).toEqual([8e6, 9e6, 10e6, 11e6, 12e6]);
    expect(ticks.map((t) => t.label)).toEqual(["8 ms", "9 ms", "10 ms", "11 ms", "12 ms"]);
  });
  it("tell neighbors apart far from the start", () => {
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
    expect([0.001, 0.1, 1, 1000, 10_000, 1e6, 1e-5].map(logLabel)).toEqual([
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
