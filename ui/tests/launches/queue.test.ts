import { describe, expect, it } from "vitest";
import type { Counter } from "../../src/data/types.ts";
import { indexAt, queueOf, stairs } from "../../src/views/launches/queue.ts";

describe("a step function", () => {
  const box = { from: 0, to: 100, width: 200, height: 50, top: 10 };
  it("holds each value until the next, the last to the end", () => {
    expect(stairs([10, 50], [10, 5], box)).toBe("M20.0 50V0.0H100.0V25.0H200.0V50Z");
  });
  it("is cut to the span shown", () => {
    expect(stairs([0, 60, 200], [10, 5, 10], { ...box, from: 50 })).toBe("M0.0 50V0.0H40.0V25.0H200.0V50Z");
    expect(stairs([], [], box)).toBe("");
    expect(stairs([150], [3], box)).toBe("");
  });
  it("is read off at a moment", () => {
    const t = [10, 20, 30];
    expect([5, 10, 19, 20, 99].map((at) => indexAt(t, at))).toEqual([-1, 0, 0, 1, 2]);
  });
  it("is found by its device", () => {
    const counters = [{ id: "queue:0" }, { id: "queue:1" }, { id: "queue:-1" }] as Counter[];
    expect(queueOf(counters, 1)?.id).toBe("queue:1");
    expect(queueOf(counters, null)?.id).toBe("queue:-1");
    expect(queueOf(counters, 7)).toBeUndefined();
  });
});
