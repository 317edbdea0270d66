import { describe, expect, it } from "vitest";
import type { GapRow } from "../../src/data/wire.ts";
import { outlines, stripOf } from "../../src/views/idle/columns.ts";

const gap = (start_ns: number, idle_ns: number, kind: GapRow["kind"] = "host_late", device = 0): GapRow => ({
  device,
  step: 0,
  start_ns,
  idle_ns,
  kind,
  cause: "host_python",
  culprit: null,
  next: null,
  stack: [],
});

describe("idle time over the run", () => {
  it("goes to the columns that a gap covers", () => {
    const { shares } = stripOf([gap(5, 20)], 0, 40, 4, ["host_late"]);
    expect([...shares[0]!]).toEqual([0.5, 1, 0.5, 0]);
  });
  it("is kept whole: columns add up to the gaps", () => {
    const gaps = [gap(3, 14), gap(20, 1), gap(29, 7, "queued_gap")];
    const { shares } = stripOf(gaps, 0, 36, 5, ["host_late", "queued_gap"]);
    const total = shares.flatMap((row) => [...row]).reduce((a, b) => a + b, 0);
    expect(total * (36 / 5)).toBeCloseTo(22);
  });
  it("is averaged over devices and cut at the edges", () => {
    const both = stripOf([gap(0, 10, "host_late", 0), gap(0, 5, "host_late", 1)], 0, 10, 1, ["host_late"]);
    expect(both.shares[0]![0]).toBeCloseTo(0.75);
    const cut = stripOf([gap(-5, 10), gap(8, 10)], 0, 10, 1, ["host_late"]);
    expect(cut.shares[0]![0]).toBeCloseTo(0.7);
  });
  it("draws nothing where there is nothing", () => {
    const strip = stripOf([], 0, 0, 3, ["host_late"]);
    expect(outlines(strip, 30, 10)).toEqual([""]);
  });
  it("stacks kinds on each other", () => {
    const strip = stripOf([gap(0, 5), gap(5, 2.5, "queued_gap")], 0, 10, 1, ["host_late", "queued_gap"]);
    expect(outlines(strip, 30, 100)).toEqual(["M0.0 100.0V50.0H30.0V100.0Z", "M0.0 50.0V25.0H30.0V50.0Z"]);
  });
});
