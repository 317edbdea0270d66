import { expect, test } from "vitest";
import type { CurvePoint, DeviceMemory, OperatorMemory } from "../../src/data/wire.ts";
import { arrangeOperators } from "../../src/views/memory/arrange.ts";
import type { StepRow } from "../../src/views/memory/curve.ts";
import {
  levelAt,
  parseTime,
  reach,
  spanOf,
  spanOfSteps,
  stepPath,
  stepsOf,
} from "../../src/views/memory/curve.ts";

function device(curve: CurvePoint[], opening = 0): DeviceMemory {
  const peak = curve.reduce((most, p) => Math.max(most, p.allocated_bytes), opening);
  return { curve, opening_allocated_bytes: opening, peak_allocated_bytes: peak } as DeviceMemory;
}
const at = (at_ns: number, allocated_bytes: number, reserved_bytes: number | null = 100): CurvePoint => ({
  at_ns,
  allocated_bytes,
  reserved_bytes,
});

test("the level holds from a mark until the next", () => {
  const it = device([at(10, 5), at(20, 8), at(30, 2, null)], 3);
  expect(levelAt(it, 0)).toEqual({ allocated: 3, reserved: 100 });
  expect(levelAt(it, 10).allocated).toBe(5);
  expect(levelAt(it, 19).allocated).toBe(5);
  expect(levelAt(it, 25).allocated).toBe(8);
  expect(levelAt(it, 99)).toEqual({ allocated: 2, reserved: null });
});

test("the axis reaches from zero, or below it, to the highest", () => {
  expect(reach(device([at(1, 50)]), false)).toEqual({ low: 0, high: 50 });
  expect(reach(device([at(1, 50)]), true)).toEqual({ low: 0, high: 100 });
  expect(reach(device([at(1, -20)]), false)).toEqual({ low: -20, high: 0 });
  expect(reach(device([]), false)).toEqual({ low: 0, high: 1 });
});

test("the path goes in steps, from the level before to the end of the span", () => {
  const path = stepPath(
    [at(10, 5), at(20, 5), at(30, 8)],
    (p) => p.allocated_bytes,
    2,
    { from: 0, to: 100 },
    (t) => t,
    (v) => v,
  );
  expect(path).toBe("M0 2H10V5H30V8H100");
});

test("marks before the span give its first level, marks after it are left out", () => {
  const draw = (before: number | null) =>
    stepPath(
      [at(10, 5), at(30, 8), at(90, 1)],
      (p) => p.allocated_bytes,
      before,
      { from: 20, to: 50 },
      (t) => t,
      (v) => v,
    );
  expect(draw(2)).toBe("M20 5H30V8H50");
  expect(draw(null)).toBe("M20 5H30V8H50");
});

test("what is not known is not drawn", () => {
  const nothing = stepPath(
    [at(1, 1, null)],
    (p) => p.reserved_bytes,
    null,
    { from: 0, to: 9 },
    (t) => t,
    (v) => v,
  );
  expect(nothing).toBe("");
});

const steps: StepRow[] = [2, 3, 5].map((step, i) => ({ step, name: "", start_ns: i * 100, wall_ns: 80 }));

test("steps of the address are found as the command line means them", () => {
  const numbers = (text?: string) => stepsOf(text, steps).map((s) => s.step);
  expect(numbers("3")).toEqual([3]);
  expect(numbers("2,5")).toEqual([2, 5]);
  expect(numbers("3-9")).toEqual([3, 5]);
  expect(numbers("x")).toEqual([]);
  expect(numbers(undefined)).toEqual([]);
  expect(spanOfSteps(stepsOf("2-3", steps))).toEqual({ from: 0, to: 180 });
  expect(spanOfSteps([])).toBeUndefined();
});

test("typed moments are read with their unit", () => {
  expect(parseTime("12.5")).toBe(12_500_000);
  expect(parseTime("1,5 s")).toBe(1_500_000_000);
  expect(parseTime(" 250 µs ")).toBe(250_000);
  expect(parseTime("7ns")).toBe(7);
  expect(parseTime("soon")).toBeUndefined();
  expect(parseTime("")).toBeUndefined();
});

test("a stretch is in order, inside the run and not empty", () => {
  expect(spanOf(50, 10.5, 100)).toEqual({ from: 10, to: 50 });
  expect(spanOf(-5, 500, 100)).toEqual({ from: 0, to: 100 });
  expect(spanOf(200, 300, 100)).toBeUndefined();
});

test("operators are those of one device, filtered and sorted", () => {
  const row = (name: string, on: string, bytes: number) =>
    ({ name, device: on, self_allocated_bytes: bytes, calls: 1000 - bytes }) as OperatorMemory;
  const rows = [row("aten::a", "CPU", 5), row("aten::b", "CUDA 0", 1), row("aten::c", "CUDA 0", 9)];
  const names = (filter?: string, sort = "self_allocated_bytes") => {
    const found = arrangeOperators(rows, "CUDA 0", filter, sort);
    return typeof found === "string" ? found : found.map((r) => r.name);
  };
  expect(names()).toEqual(["aten::c", "aten::b"]);
  expect(names(undefined, "calls")).toEqual(["aten::b", "aten::c"]);
  expect(names("::b$")).toEqual(["aten::b"]);
  expect(names("(")).toBe("Invalid regular expression.");
});
