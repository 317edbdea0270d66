import { describe, expect, it } from "vitest";
import type { ListedRun } from "../../src/data/types.ts";
import { type ColumnChoice, chosenFields, named, toggledFields } from "../../src/parts/columns.tsx";
import { exactly } from "../../src/parts/filter.tsx";
import { windowAround } from "../../src/parts/jump.tsx";
import { place, placeBeside } from "../../src/parts/place.ts";
import { inSight, ROW_PX, rowAt, rowTop } from "../../src/parts/rows.ts";
import { matching, runNames } from "../../src/session/names.ts";
import { choices as kernelChoices } from "../../src/views/kernels/columns.tsx";
import { callSite, moduleOf } from "../../src/views/operators/call-site.tsx";
import { choices } from "../../src/views/operators/columns.tsx";

describe("columns", () => {
  const all: ColumnChoice[] = [
    { field: "name", label: "Name", usual: true, fixed: true },
    { field: "calls", label: "Calls", usual: true },
    { field: "total", label: "Total", usual: true },
    { field: "flops", label: "FLOPs", usual: false },
  ];

  it("are the usual ones unless the address says otherwise", () => {
    expect(chosenFields(all, undefined)).toEqual(["name", "calls", "total"]);
    expect(chosenFields(all, "flops,calls")).toEqual(["name", "calls", "flops"]);
    expect(chosenFields(all, "gone,<script>")).toEqual(["name"]);
  });

  it("come and go, and the usual choice leaves no trace in the address", () => {
    const more = toggledFields(all, undefined, "flops");
    expect(more).toBe("name,calls,total,flops");
    expect(toggledFields(all, more, "flops")).toBeUndefined();
    expect(toggledFields(all, "name", "name")).toBe("name");
  });

  it("have the names that the answer gives its numbers", () => {
    const definitions = [{ field: "total", label: "Total time", text: "All of it." }];
    expect(named(all, definitions).map((c) => c.label)).toEqual(["Name", "Calls", "Total time", "FLOPs"]);
    expect(named(all, undefined)).toEqual(all);
  });

  it("fit the grouping", () => {
    const fields = (list: ColumnChoice[]) => list.map((c) => c.field);
    expect(fields(choices("ops", "name", true))).not.toContain("stack");
    expect(fields(choices("ops", "stack", true))).toContain("stack");
    expect(chosenFields(choices("ops", "name", false), undefined)).not.toContain("device_self_ns");
    expect(fields(kernelChoices("copies"))).toContain("bytes_per_second");
    expect(fields(kernelChoices("name"))).not.toContain("grid");
    expect(fields(kernelChoices("launch"))).toContain("grid");
  });
});

describe("rows in sight", () => {
  const opened = { index: 3, height: 300 };

  it("lie one below the other, with room for the opened one", () => {
    expect(rowTop(3, opened)).toBe(3 * ROW_PX);
    expect(rowTop(4, opened)).toBe(4 * ROW_PX + 300);
    for (const index of [0, 2, 3, 4, 50]) expect(rowAt(rowTop(index, opened), opened)).toBe(index);
    expect(rowAt(4 * ROW_PX + 150, opened)).toBe(3); // inside what is below the opened row
  });

  it("cover the window whatever is opened", () => {
    for (const top of [0, 100, 400, 5000, 27_000]) {
      const { first, last } = inSight(top, 600, 1000, opened);
      expect(rowTop(first, opened)).toBeLessThanOrEqual(top);
      expect(last === 1000 || rowTop(last, opened) >= top + 600).toBe(true);
      expect(last - first).toBeLessThan(60);
    }
  });

  it("never leave the table", () => {
    expect(inSight(9e9, 600, 5, undefined).last).toBe(5);
    expect(inSight(0, 600, 0, undefined)).toEqual({ first: 0, last: 0 });
  });
});

describe("floating boxes", () => {
  const view = { width: 1000, height: 600 };
  const box = { width: 300, height: 100 };

  it("stand below, or above where there is no room", () => {
    expect(place({ left: 10, top: 20, right: 50, bottom: 40 }, box, view)).toEqual({ left: 10, top: 46 });
    expect(place({ left: 10, top: 560, right: 50, bottom: 580 }, box, view).top).toBe(454);
  });

  it("stay inside the window", () => {
    expect(place({ left: 950, top: 20, right: 990, bottom: 40 }, box, view).left).toBe(692);
    expect(placeBeside({ left: 900, top: 590, right: 940, bottom: 598 }, box, view)).toEqual({
      left: 594,
      top: 492,
    });
  });
});

describe("names", () => {
  it("match themselves only", () => {
    const name = "void k<(anonymous)::f[3], 2>(a*, b+c?)|^$\\";
    expect(new RegExp(exactly(name)).test(name)).toBe(true);
    expect(new RegExp(exactly("aten::mm")).test("aten::mm_out")).toBe(false);
    expect(new RegExp(exactly("a.b")).test("axb")).toBe(false);
  });

  it("of runs differ", () => {
    const run = (id: number, path: string, label: string) => ({ id, path, label }) as ListedRun;
    const all = [
      run(0, "/x/slow/fault.json", "fault"),
      run(1, "/x/fast/fault.json", "fault"),
      run(2, "/x/gpt.json", "gpt"),
    ];
    expect([...runNames(all).values()]).toEqual(["slow/fault", "fast/fault", "gpt"]);
    expect(matching(all, "FAST fau").map((r) => r.id)).toEqual([1]);
    expect(matching(all, "")).toHaveLength(3);
  });

  it("of call sites are the user's own, if any", () => {
    expect(callSite(["<built-in mm>", "torch/nn/linear.py(3): forward", "train.py(7): step"])).toBe(
      "train.py(7): step",
    );
    expect(callSite(["<built-in mm>", "torch/optim/adam.py(5): adam"])).toBe("torch/optim/adam.py(5): adam");
    expect(callSite(["<built-in mm>"])).toBe("<built-in mm>");
    expect(callSite(null)).toBe("");
    expect(moduleOf(["<built-in mm>", "nn.Module: Linear_3", "nn.Module: Block_0"])).toBe("Linear_3");
    expect(moduleOf(["train.py(7): step"])).toBeUndefined();
  });
});

describe("the window around a slice", () => {
  it("shows it with its surroundings and never begins before the trace", () => {
    expect(windowAround(10_000, 1000)).toEqual({ from: 8000, to: 13_000 });
    expect(windowAround(100, 0)).toEqual({ from: 0, to: 1100 });
  });
});
