import { describe, expect, it } from "vitest";
import { labelEvery, labelOf, roof } from "../../src/views/overview/steps/bar-scale.ts";
import { barsOf, isChosen, partsSeen, stepsText } from "../../src/views/overview/steps/bins.ts";
import { PARTS, type StepRow } from "../../src/views/overview/types.ts";

function step(number: number, kernel_ns: number, host_ns: number, partial = false): StepRow {
  const parts = Object.fromEntries(PARTS.map(({ field }) => [field, 0])) as Record<string, number>;
  return {
    ...(parts as unknown as StepRow),
    step: number,
    name: `ProfilerStep#${number}`,
    start_ns: number * 1000,
    wall_ns: kernel_ns + host_ns,
    kernel_ns,
    host_ns,
    gpu_busy_ns: kernel_ns,
    partial,
    partial_reason: partial ? "no_device_work" : null,
  };
}

const many = (n: number) => Array.from({ length: n }, (_, i) => step(i, 10 + (i % 7), 5));

describe("bars of steps", () => {
  it("draws one bar a step as long as they fit", () => {
    const bars = barsOf(many(400), 400);
    expect(bars).toHaveLength(400);
    expect(bars.every((bar) => bar.steps === 1 && bar.first === bar.last)).toBe(true);
  });

  it("joins neighbors beyond that and loses none", () => {
    const bars = barsOf(many(5000), 400);
    expect(bars.length).toBeLessThanOrEqual(400);
    expect(bars.reduce((sum, bar) => sum + bar.steps, 0)).toBe(5000);
    expect(bars[0]).toMatchObject({ first: 0, last: 12, steps: 13 });
    expect(bars.at(-1)?.last).toBe(4999);
  });

  it("shows means whose parts add up, and the longest step by number", () => {
    const [bar] = barsOf([step(3, 10, 20), step(4, 30, 40), step(5, 20, 0)], 1);
    expect(bar?.wall_ns).toBe(40);
    expect(bar?.parts.kernel_ns).toBe(20);
    expect(bar?.parts.host_ns).toBe(20);
    expect(bar?.longest.step).toBe(4);
  });

  it("says that a bar holds a partial step, and why", () => {
    const [bar] = barsOf([step(1, 1, 1), step(2, 1, 1, true)], 1);
    expect(bar?.partial).toEqual(["it launched no device work, as those before it did"]);
    expect(barsOf([step(1, 1, 1)])[0]?.partial).toEqual([]);
  });

  it("has no bars without steps", () => {
    expect(barsOf([])).toEqual([]);
  });

  it("offers only parts that were seen", () => {
    expect(partsSeen([step(1, 4, 0), step(2, 0, 3)]).map((p) => p.field)).toEqual(["kernel_ns", "host_ns"]);
  });
});

describe("steps in the address", () => {
  const [one] = barsOf([step(7, 1, 1)]);
  const [three] = barsOf([step(3, 1, 1), step(4, 1, 1), step(5, 1, 1)], 1);

  it("are written as the command line takes them", () => {
    expect(stepsText(one!)).toBe("7");
    expect(stepsText(three!)).toBe("3-5");
  });

  it.each([
    [undefined, false, false],
    ["7", true, false],
    ["2-4", false, true],
    ["1,7", true, false],
    ["6", false, false],
    ["nonsense", false, false],
  ])("%s chooses", (text, seven, threeToFive) => {
    expect(isChosen(one!, text)).toBe(seven);
    expect(isChosen(three!, text)).toBe(threeToFive);
  });
});

describe("the scale", () => {
  it("cuts off a few steps that tower over the rest, and only those", () => {
    expect(roof([30, 31, 29, 30, 10_000])).toBeCloseTo(40.3);
    expect(roof([30, 31, 29, 30, 60])).toBeUndefined();
    expect(roof([10, 10, 10, 60, 60, 60])).toBeUndefined(); // two kinds of steps are not outliers
    expect(roof([1, 1000, 1])).toBeUndefined(); // too few to call one unusual
    expect(roof([0, 0, 0, 0])).toBeUndefined();
  });

  it("numbers bars so that labels do not touch", () => {
    expect(labelEvery(3, 600)).toBe(1);
    expect(labelEvery(60, 600)).toBe(5);
    expect(labelEvery(400, 600) * (600 / 400)).toBeGreaterThanOrEqual(44);
    expect(labelOf({ first: 10, steps: 1 }, 8, 5)).toBe("10");
    expect(labelOf({ first: 12, steps: 1 }, 10, 5)).toBeUndefined();
    expect(labelOf({ first: 130, steps: 13 }, 10, 5)).toBe("130");
    expect(labelOf({ first: -1, steps: 1 }, 0, 1)).toBe("whole trace");
  });
});
