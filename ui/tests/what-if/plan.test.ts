import { describe, expect, it } from "vitest";
import { query } from "../../src/data/http.ts";
import {
  CHANGES,
  changeOf,
  FREE_SPEEDUP,
  fromParams,
  holds,
  isEmpty,
  optionsOf,
  type Plan,
  readable,
  SPEEDUPS,
  speedupLabel,
  stopOf,
  toggled,
  toParams,
  withChange,
  withSpeedup,
} from "../../src/views/what-if/plan.ts";

const NONE: Plan = { changes: [], faster: [] };

describe("a plan in the address", () => {
  it("comes back as it was, whatever the names hold", () => {
    const plan: Plan = {
      changes: ["no-sync", "tensor-cores"],
      faster: [
        { kind: "op", name: "aten::mm", speedup: 2 },
        { kind: "kernel", name: "a|kernel:3:b\\p\\", speedup: 1.25 },
        { kind: "op", name: "autograd::engine::evaluate_function: MmBackward0\n2x", speedup: FREE_SPEEDUP },
      ],
    };
    const { change, faster } = toParams(plan);
    expect(fromParams(change, faster)).toEqual(plan);
  });
  it("leaves no trace when empty", () => {
    expect(toParams(NONE)).toEqual({ change: undefined, faster: undefined });
    expect(isEmpty(fromParams(undefined, undefined))).toBe(true);
  });
  it("loses what makes no sense", () => {
    expect(fromParams("no-sync,rm -rf,", "op:0:a|op:-1:b|op:inf:c|op:2:|stack:2:d|op:2:e")).toEqual({
      changes: ["no-sync"],
      faster: [{ kind: "op", name: "e", speedup: 2 }],
    });
  });
});

describe("the question of a plan", () => {
  it("puts each speedup right behind its name, in order", () => {
    const plan = fromParams("free-launches", "op:2:aten::mm|kernel:3:nvjet");
    expect(query(optionsOf(plan, "4"))).toBe(
      "?step=4&op=aten%3A%3Amm&speedup=2&kernel=nvjet&speedup=3&free-launches=1",
    );
  });
  it("is the same for plans that are the same", () => {
    const one = withChange(withChange(NONE, "no-sync", true), "no-data-loading", true);
    const other = withChange(withChange(NONE, "no-data-loading", true), "no-sync", true);
    expect(query(optionsOf(one, undefined))).toBe(query(optionsOf(other, undefined)));
  });
});

describe("changing a plan", () => {
  it("replaces a speedup, and takes it out at 1×", () => {
    const twice = withSpeedup(NONE, "op", "aten::mm", 2);
    const more = withSpeedup(twice, "op", "aten::mm", 5);
    expect(more.faster).toEqual([{ kind: "op", name: "aten::mm", speedup: 5 }]);
    expect(withSpeedup(more, "kernel", "aten::mm", 2).faster).toHaveLength(2);
    expect(withSpeedup(more, "op", "aten::mm", 1)).toEqual(NONE);
  });
  it("switches a usual change on and off", () => {
    const on = withChange(NONE, "overlap-transfers", true);
    expect(on.changes).toEqual(["overlap-transfers"]);
    expect(withChange(on, "overlap-transfers", true)).toEqual(on);
    expect(withChange(on, "overlap-transfers", false)).toEqual(NONE);
  });
});

describe("rows of the table of changes", () => {
  it("name changes that the controls can set", () => {
    for (const change of CHANGES) expect(changeOf(change.words)).toEqual({ option: change.option });
    expect(changeOf("aten::mm 2x faster")).toEqual({ kind: "op", name: "aten::mm", speedup: 2 });
    expect(changeOf("my range 3x faster 2x faster")).toEqual({
      kind: "op",
      name: "my range 3x faster",
      speedup: 2,
    });
    expect(changeOf("something else")).toBeUndefined();
  });
  it("put their change in and take it out again", () => {
    for (const words of ["no synchronization", "aten::mm 2x faster"]) {
      const on = toggled(NONE, words);
      expect(holds(on, words)).toBe(true);
      expect(isEmpty(on)).toBe(false);
      expect(toggled(on, words)).toEqual(NONE);
    }
    expect(toggled(NONE, "something else")).toEqual(NONE);
  });
  it("see an operator in the plan at any speed", () => {
    expect(holds(withSpeedup(NONE, "op", "aten::mm", 7), "aten::mm 2x faster")).toBe(true);
    expect(holds(withSpeedup(NONE, "kernel", "aten::mm", 7), "aten::mm 2x faster")).toBe(false);
  });
});

describe("the stops of a slider", () => {
  it("are found again", () => {
    SPEEDUPS.forEach((speedup, at) => {
      expect(stopOf(speedup)).toBe(at);
    });
    expect(SPEEDUPS[stopOf(2.1)]).toBe(2);
    expect(SPEEDUPS[stopOf(0.5)]).toBe(1);
    expect(SPEEDUPS[stopOf(1e12)]).toBe(FREE_SPEEDUP);
  });
  it("say what they mean", () => {
    expect(speedupLabel(1.25)).toBe("1.25×");
    expect(speedupLabel(FREE_SPEEDUP)).toBe("free");
    expect(readable("aten::mm 1000000000x faster, aten::add 2x faster")).toBe(
      "aten::mm free, aten::add 2x faster",
    );
  });
});
