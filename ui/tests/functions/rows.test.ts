import { expect, it } from "vitest";
import { arrangedRows, columnsOf } from "../../src/parts/answer-columns.ts";
import { choicesOf, exactFunction, type FunctionRow } from "../../src/views/functions/rows.ts";

const ROW = { name: "f", file: "a.py", line: 3, calls: 2, self_ns: 10, total_ns: 20 } as FunctionRow;

it("finds one function among callers and callees", () => {
  const found = new RegExp(
    exactFunction({ name: "<method 'x' of 'y.z' objects>", file: null, line: null }),
    "u",
  );
  expect(found.test("<method 'x' of 'y.z' objects>")).toBe(true);
  const placed = new RegExp(exactFunction({ name: "f", file: "src/a.py", line: 3 }), "u");
  expect(placed.test("src/a.py:3(f)")).toBe(true);
  expect(placed.test("src/a.py:30(f)") || placed.test("src/aXpy:3(f)")).toBe(false);
});

it("has columns for what is known", () => {
  const fields = (rows: FunctionRow[], unit: "nanoseconds" | "samples") =>
    choicesOf(rows, unit).map((c) => c.field);
  expect(fields([{ ...ROW, waiting_ns: null }], "nanoseconds")).toContain("calls");
  const sampled = { ...ROW, calls: null, self_ns: null, self_samples: 4, waiting_ns: 5 } as FunctionRow;
  expect(fields([sampled], "samples")).toEqual([
    "name",
    "self_samples",
    "self_share",
    "total_samples",
    "total_share",
    "waiting_ns",
    "file",
  ]);
});

it("reads the columns of any table off its rows", () => {
  const rows = [
    { calls: 3, name: "a", host_ns: 5, none: null, inner: { x: 1 }, list: [] },
    { calls: 1, name: "b", host_ns: 9, none: null, inner: { x: 1 }, list: [] },
  ];
  const columns = columnsOf(rows, [{ field: "host_ns", label: "Host", text: "Time." }]);
  expect(columns.map((c) => [c.field, c.label, c.isText])).toEqual([
    ["name", "Name", true],
    ["calls", "Calls", false],
    ["host_ns", "Host", false],
  ]);
  expect(arrangedRows(rows, "", "host_ns").map((row) => row.name)).toEqual(["b", "a"]);
  expect(arrangedRows(rows, "A", undefined).map((row) => row.name)).toEqual(["a"]);
});
