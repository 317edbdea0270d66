// From the step before to the step after: nothing is lost on the way.

import { describe, expect, it } from "vitest";
import type { Cause, CauseChange } from "../../src/data/wire.ts";
import { shareOf, waterfall } from "../../src/views/compare/waterfall.ts";

const CAUSES: Cause[] = [
  "kernel",
  "copy",
  "fill",
  "communication",
  "host_python",
  "host_launch",
  "host_operator",
  "host_data_loading",
  "host_allocation",
  "launch_latency",
  "queued_gap",
  "dependency",
];

function changes(...pairs: [number, number][]): CauseChange[] {
  return pairs.map(([before_ns, after_ns], at) => ({
    cause: CAUSES[at]!,
    label: CAUSES[at]!,
    definition: null,
    before_ns,
    after_ns,
    delta_ns: after_ns - before_ns,
  }));
}

const middle = (of: ReturnType<typeof waterfall>) =>
  of.bars.filter((bar) => bar.kind === "cause" || bar.kind === "others");

describe("the waterfall", () => {
  it("leads from the step before to the step after, the largest change first", () => {
    const { bars } = waterfall(100, 70, changes([60, 65], [40, 5]));
    expect(bars.map((bar) => [bar.kind, bar.causes.join(), bar.from, bar.to])).toEqual([
      ["before", "", 0, 100],
      ["cause", "copy", 100, 65],
      ["cause", "kernel", 65, 70],
      ["after", "", 0, 70],
    ]);
  });

  it("sums up what changed by less than a hundredth of the largest", () => {
    const of = waterfall(1_000_500, 500, changes([1_000_000, 0], [300, 308], [200, 190], [0, 2]));
    expect(middle(of).map((bar) => [bar.kind, bar.causes, bar.delta_ns])).toEqual([
      ["cause", ["kernel"], -1_000_000],
      ["others", ["fill", "copy", "communication"], 0],
    ]);
    expect(middle(of)[1]).toMatchObject({ before_ns: 500, after_ns: 500 });
  });

  it("calls a single small cause by its name", () => {
    const of = waterfall(1_000_300, 308, changes([1_000_000, 0], [300, 308]));
    expect(middle(of).map((bar) => bar.kind)).toEqual(["cause", "cause"]);
  });

  it("has no bar of its own for a cause that stayed the same", () => {
    const of = waterfall(30, 30, changes([10, 10], [20, 20]));
    expect(middle(of)).toMatchObject([{ kind: "others", causes: ["kernel", "copy"], delta_ns: 0 }]);
  });

  it("adds up to the change of the step, whatever changed", () => {
    let state = 7;
    const next = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 200; round++) {
      const pairs = CAUSES.slice(0, next(13)).map((): [number, number] => [
        next(10) * 10 ** next(6),
        next(10) * 10 ** next(6),
      ]);
      const sum = (at: 0 | 1) => pairs.reduce((total, pair) => total + pair[at], 0);
      const [before, after] = [sum(0), sum(1)];
      const of = waterfall(before, after, changes(...pairs));
      expect(middle(of).reduce((total, bar) => total + bar.delta_ns, 0)).toBe(after - before);
      expect(middle(of).flatMap((bar) => bar.causes)).toHaveLength(pairs.length);
      expect(middle(of).at(-1)?.to ?? before).toBe(after);
      for (const bar of of.bars)
        for (const end of [bar.from, bar.to]) {
          expect(shareOf(of, end)).toBeGreaterThanOrEqual(0);
          expect(shareOf(of, end)).toBeLessThanOrEqual(1);
        }
    }
  });

  it("starts its axis at 0 where changes can be seen, and close to them where not", () => {
    expect(waterfall(100, 70, changes([100, 70])).low).toBe(0);
    const far = waterfall(1_000_000, 999_000, changes([1_000_000, 999_000]));
    expect(far.low).toBeGreaterThan(990_000);
    expect(far.low).toBeLessThan(999_000);
    expect(waterfall(0, 0, []).bars.map((bar) => bar.kind)).toEqual(["before", "after"]);
  });
});
