import { describe, expect, it } from "vitest";
import type { Counter } from "../../src/data/types.ts";
import type { GapRow, TransferRow } from "../../src/views/diagnosis/answers.ts";
import { gather, type Piece, place } from "../../src/views/diagnosis/charts/parts.ts";
import { indexAt, queueOf, stairs } from "../../src/views/diagnosis/charts/queue.ts";
import { busOf, copyLabel, sums } from "../../src/views/diagnosis/copies.ts";
import { outlines, stripOf } from "../../src/views/diagnosis/idle/strip.ts";
import { cause, gapKind, partOf, pathClass, word } from "../../src/views/diagnosis/names.ts";

const piece = (key: string, value: number): Piece => ({ key, label: key, value, category: 0 });

describe("parts of a whole", () => {
  it("of several devices become one, the longest first, nothing left out but nothing", () => {
    const pieces = gather([piece("a", 2), piece("b", 5), piece("a", 4), piece("c", 0)]);
    expect(pieces.map((p) => [p.key, p.value])).toEqual([
      ["a", 6],
      ["b", 5],
    ]);
  });
  it("do not change what they were made of", () => {
    const rows = [piece("a", 2), piece("a", 4)];
    gather(rows);
    expect(rows[0]?.value).toBe(2);
  });
  it("fill the bar without gap or overlap", () => {
    const { placed, sum, whole } = place([piece("a", 6), piece("b", 3), piece("c", 1)]);
    expect([sum, whole]).toEqual([10, 10]);
    expect(placed.map((p) => p.start)).toEqual([0, 0.6, expect.closeTo(0.9)]);
    expect(placed.reduce((total, p) => total + p.share, 0)).toBeCloseTo(1);
  });
  it("leave a rest of a larger whole, and never reach beyond", () => {
    expect(place([piece("a", 2)], 8).placed[0]?.share).toBe(0.25);
    expect(place([piece("a", 9)], 8).placed[0]?.share).toBe(1);
    expect(place([piece("a", 0)]).placed[0]?.share).toBe(0);
  });
});

const gap = (start_ns: number, idle_ns: number, kind = "host_late", device = 0): GapRow => ({
  device,
  step: 0,
  start_ns,
  idle_ns,
  kind,
  cause: kind,
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

const copy = (rest: Partial<TransferRow>): TransferRow => ({
  device: 0,
  direction: "host_to_device",
  memory: "pinned",
  calls: 1,
  bytes: 10,
  total_ns: 5,
  exposed_ns: 3,
  host_ns: 1,
  bytes_per_second: null,
  large_bytes_per_second: null,
  of_bus: null,
  ...rest,
});

describe("copies", () => {
  it("add up, those of unknown size as nothing", () => {
    expect(sums([copy({}), copy({ bytes: null, calls: 4 })])).toEqual({
      calls: 5,
      bytes: 10,
      total_ns: 10,
      exposed_ns: 6,
      host_ns: 2,
    });
  });
  it("tell what the bus can do", () => {
    expect(busOf([copy({}), copy({ large_bytes_per_second: 32e9, of_bus: 0.5 })])).toBe(64e9);
    expect(busOf([copy({ large_bytes_per_second: 1e9 })])).toBeUndefined();
  });
  it("are named by where they go and from what memory", () => {
    expect(copyLabel(copy({}), false)).toBe("host to device, pinned");
    expect(copyLabel(copy({ memory: "unknown", direction: "peer" }), true)).toBe(
      "device to another device (device 0)",
    );
  });
});

describe("names", () => {
  it("of unknown keys are the keys, readable", () => {
    expect(gapKind("brand_new").label).toBe("brand new");
    expect(cause("brand_new").label).toBe("brand new");
    expect(pathClass("brand_new").label).toBe("brand new");
    expect(word("blocking_copy")).toBe("blocking copy");
  });
  it("are explained by their own part of a definition", () => {
    const text =
      "host: the host worked (operators, Python); kernel, copy: the device worked; data_loading. More words.";
    expect(partOf(text, "host")).toBe("the host worked (operators, Python).");
    expect(partOf(text, "copy")).toBe("the device worked.");
    expect(partOf(text, "data_loading")).toBe(text);
    expect(partOf(undefined, "host")).toBeUndefined();
  });
});
