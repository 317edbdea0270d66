import { expect, it } from "vitest";
import type { SourceFile } from "../../src/data/wire.ts";
import { placeOf, shortPath } from "../../src/parts/source-link.tsx";
import { heat, sourceRows } from "../../src/views/source/rows.ts";

const FILE: SourceFile = {
  file: "a.py",
  text: "def f():\n    x = 1\n    return x\n",
  changed: false,
  unit: "nanoseconds",
  lines: [{ line: 2, hits: 3, amount: 600, per_hit_ns: 200, share: 0.6 }],
  functions: [
    {
      name: "f",
      line: 1,
      calls: 3,
      own: 900,
      with_callees: 1000,
      with_callees_share: 1,
      device_wait_ns: null,
      device_ns: null,
    },
  ],
};

it("shows every line of a file that can be read, and numbers where there are any", () => {
  const rows = sourceRows(FILE);
  expect(rows.map((row) => [row.line, row.text, row.amount, row.hits])).toEqual([
    [1, "def f():", undefined, undefined],
    [2, "    x = 1", 600, 3],
    [3, "    return x", undefined, undefined],
  ]);
});

it("puts functions at their first line where lines are not known, with device time", () => {
  const functions = [{ ...FILE.functions[0]!, device_wait_ns: 40, device_ns: 70 }];
  const [first] = sourceRows({ ...FILE, text: null, lines: [], functions });
  expect(first).toMatchObject({ line: 1, name: "f", amount: 1000, hits: 3, share: 1, wait: 40, device: 70 });
});

it("heats lines by their share of the hottest", () => {
  expect([heat(0, 0.5), heat(0.001, 0.5), heat(0.25, 0.5), heat(0.5, 0.5), heat(0.1, 0)]).toEqual([
    0, 1, 4, 5, 0,
  ]);
});

it("finds the place in a frame's name", () => {
  expect(placeOf("src/train.py(12): step")).toEqual({ file: "src/train.py", line: 12 });
  expect(placeOf("step (train.py:12)")).toEqual({ file: "train.py", line: 12 });
  expect(placeOf("src/train.py: step")).toEqual({ file: "src/train.py" });
  expect(placeOf("aten::mm")).toBeUndefined();
  expect(shortPath("/usr/lib/python3/json/decoder.py")).toBe("…/json/decoder.py");
});

it("lays the memory of another run beside the times, line by line", () => {
  const lines = [
    { line: 2, hits: null, amount: 4096, per_hit_ns: null, share: 0.5 },
    { line: 3, hits: null, amount: 100, per_hit_ns: null, share: 0.1 },
  ];
  const rows = sourceRows(FILE, { ...FILE, unit: "bytes", lines, functions: [] });
  expect(rows.map((row) => [row.amount, row.beside])).toEqual([
    [undefined, undefined],
    [600, 4096],
    [undefined, 100],
  ]);
});
