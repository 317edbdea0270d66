// Rows of a comparison: their words, their order, their filter, where they lead.

import { describe, expect, it } from "vitest";
import type { ChangeRow } from "../../src/data/wire.ts";
import {
  arranged,
  countsOf,
  meaning,
  sumsOf,
  targetOf,
  whatOf,
  whereOf,
} from "../../src/views/compare/changes.ts";

function row(some: Partial<ChangeRow> = {}): ChangeRow {
  const before_ns = some.before_ns ?? 100;
  const after_ns = some.after_ns ?? 150;
  return {
    change: "increased",
    matched: "place",
    cause: "kernel",
    module: null,
    backward: false,
    op: "aten::mm",
    name: "gemm",
    before_name: null,
    before_ns,
    after_ns,
    delta_ns: after_ns - before_ns,
    noise_ns: 5,
    is_noise: false,
    before_count: 1,
    after_count: 1,
    ...some,
  };
}

describe("what happened", () => {
  it("is one or two words", () => {
    const cases: [Partial<ChangeRow>, string][] = [
      [{}, "slower"],
      [{ change: "decreased" }, "faster"],
      [{ is_noise: true }, "noise"],
      [{ change: "added", is_noise: true }, "new"],
      [{ change: "removed" }, "gone"],
      [{ change: "same" }, "same"],
      [{ matched: "fused" }, "fused"],
      [{ matched: "operator" }, "other kernel"],
      [{ matched: "operator_elsewhere", cause: "copy" }, "other copy"],
      [{ matched: "operator", cause: "host_python" }, "slower"],
      [{ matched: "module" }, "replaced"],
      [{ matched: "kernel" }, "other shapes"],
    ];
    for (const [some, word] of cases) expect(whatOf(row(some)), JSON.stringify(some)).toBe(word);
  });

  it("counts per step on both sides", () => {
    expect(countsOf(row())).toBe("1");
    expect(countsOf(row({ before_count: 320, after_count: 0 }))).toBe("320 → 0");
    expect(countsOf(row({ before_count: 0, after_count: 2 / 3 }))).toBe("0 → 0.7");
  });
});

describe("where it is", () => {
  const label = (cause: string) => (cause === "host_launch" ? "idle: host in launch calls" : cause);

  it("names the operator where the kernel is another name", () => {
    expect(whereOf(row(), label)).toMatchObject({ cause: undefined, op: "aten::mm", name: "gemm" });
    expect(whereOf(row({ op: "gemm" }), label).op).toBeUndefined();
  });

  it("says why the device was idle, once", () => {
    expect(whereOf(row({ cause: "host_launch", name: "aten::mm" }), label).cause).toBe(
      "idle: host in launch calls",
    );
    const bare = row({ cause: "host_launch", name: "idle: host in launch calls", op: null });
    expect(whereOf(bare, label)).toMatchObject({ cause: undefined, name: "idle: host in launch calls" });
    expect(whereOf(bare, () => "host in launch calls").cause).toBeUndefined();
  });

  it("shows the earlier name where it differs in its short form", () => {
    expect(whereOf(row({ name: "void at::native::f()", before_name: "f()" }), label).was).toBeUndefined();
    expect(whereOf(row({ name: "b + c", before_name: "a" }), label)).toMatchObject({ was: "a", name: "b + c" });
  });
});

describe("order and filter", () => {
  const rows = [
    row({ name: "a", after_ns: 110 }),
    row({ name: "b", before_ns: 900, after_ns: 10, module: "net/0" }),
    row({ name: "c", after_ns: 500, noise_ns: null }),
  ];
  const names = (all: ChangeRow[]) => all.map((one) => one.name).join("");

  it("begins with the largest change, in whichever direction", () => {
    expect(names(arranged(rows, undefined, "delta_ns"))).toBe("bca");
    expect(names(arranged(rows, undefined, "after_ns"))).toBe("cab");
    expect(names(arranged(rows, undefined, "name"))).toBe("abc");
  });

  it("puts what has no value last", () => {
    expect(names(arranged(rows, undefined, "noise_ns"))).toBe("bac");
    expect(names(arranged(rows, undefined, "module"))[0]).toBe("b");
  });

  it("filters by name, operator, module and word; a broken expression is a text", () => {
    expect(names(arranged(rows, "^[ab]$", "name"))).toBe("ab");
    expect(names(arranged(rows, "NET/", "name"))).toBe("b");
    expect(names(arranged(rows, "slower", "name"))).toBe("abc");
    expect(meaning("(")(row({ name: "f(x)" }))).toBe(true);
    expect(meaning("(")(row())).toBe(false);
  });

  it("sums up what is shown", () => {
    expect(sumsOf([...rows, row({ is_noise: true })])).toEqual({ delta_ns: 10 - 890 + 400 + 50, noise: 1 });
  });
});

describe("where a row leads", () => {
  it("is the kernel, the copy, the operator or the timeline", () => {
    expect(targetOf(row(), "after")).toEqual({ view: "kernels", params: { filter: "^gemm$", open: 0 } });
    expect(targetOf(row({ before_name: "old" }), "before")?.params.filter).toBe("^old$");
    expect(targetOf(row({ name: "a + b" }), "after")?.view).toBe("operators");
    expect(targetOf(row({ cause: "copy", name: "Memcpy" }), "after")?.params).toEqual({
      by: "copies",
      filter: "^Memcpy$",
    });
    const python = row({ cause: "host_python", op: null, name: "train.py(3): f" });
    expect(targetOf(python, "after")).toEqual({ view: "timeline", params: { name: "train.py(3): f" } });
    expect(targetOf(row({ cause: "host_python", op: null, name: "idle: profiler" }), "after")).toBeUndefined();
  });

  it("is no operator of the other run, and not several at once", () => {
    const fused = row({ matched: "fused", name: "a + b", op: "triton_0" });
    expect(targetOf(fused, "after")?.view).toBe("operators");
    expect(targetOf(fused, "before")).toBeUndefined();
    expect(targetOf(row({ name: "a + b", op: "x + y" }), "after")).toBeUndefined();
  });

  it("is nowhere in a run that does not have it", () => {
    expect(targetOf(row({ before_ns: 0, before_count: 0 }), "before")).toBeUndefined();
  });
});
