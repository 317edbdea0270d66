import { describe, expect, it } from "vitest";
import type { Hardware, RooflineRow } from "../../src/data/wire.ts";
import { outline } from "../../src/views/roofline/mark.tsx";
import {
  domainOf,
  flatLine,
  hasPlace,
  isBeyond,
  memoryRoof,
  radius,
  ridge,
  roofsOf,
  slopeLine,
  spread,
} from "../../src/views/roofline/roofs.ts";

const H200: Hardware = {
  name: "H200 SXM",
  fp64: 33.5,
  fp64_matrix: 66.9,
  fp32: 66.9,
  fp32_matrix: null,
  tf32: 494.7,
  fp16: 989.4,
  bf16: 989.4,
  fp8: 1978.9,
  int8: 1978.9,
  fp4: null,
  memory_gbs: 4800,
  memory_gb: 141,
  units: 132,
  host_bus_gbs: 64,
  link_gbs: 450,
};

function op(intensity: number, tflops: number): RooflineRow {
  return { name: "aten::mm", intensity, tflops, share: 0.1 } as RooflineRow;
}

describe("roofs", () => {
  it("share a line where peaks are equal, highest first, unknown ones left out", () => {
    const roofs = roofsOf(H200, new Set(["bf16"]));
    expect(roofs.map((r) => r.tflops)).toEqual([1978.9, 989.4, 494.7, 66.9, 33.5]);
    expect(roofs[1]?.keys).toEqual(["fp16", "bf16"]);
    expect(roofs[3]?.keys).toEqual(["fp32", "fp64_matrix"]);
    expect(roofs.map((r) => r.used)).toEqual([false, true, false, false, false]);
  });
  it("count the matrix peak as used with its arithmetic", () => {
    const used = roofsOf(H200, new Set(["fp64"])).filter((r) => r.used);
    expect(used.map((r) => r.tflops)).toEqual([66.9, 33.5]);
  });
  it("meet the memory's slope at the ridge", () => {
    const at = ridge(989.4, 4800);
    expect(at).toBeCloseTo(206.125);
    expect(memoryRoof(at, 4800)).toBeCloseTo(989.4);
    expect(flatLine(989.4, 4800, 0.1, 1000)).toEqual([
      [at, 989.4],
      [1000, 989.4],
    ]);
    const slope = slopeLine(4800, 989.4, 0.1, 1000, 0.01);
    expect(slope?.[0]).toEqual([0.1, 0.48]);
    expect(slope?.[1][0]).toBeCloseTo(at);
    expect(slope?.[1][1]).toBeCloseTo(989.4);
  });
  it("begin where the plot begins and end where it ends", () => {
    // The slope crosses the lower edge at 10 * 1000 / 4800 FLOP/byte.
    expect(slopeLine(4800, 989.4, 0.1, 100, 10)?.[0][0]).toBeCloseTo(2.0833, 3);
    expect(slopeLine(4800, 989.4, 0.1, 100, 10)?.[1][0]).toBe(100);
    expect(flatLine(989.4, 4800, 0.1, 100)).toBeUndefined();
    expect(flatLine(33.5, 4800, 50, 100)?.[0][0]).toBe(50);
  });
});

describe("the plot", () => {
  it("holds operators, ridges and roofs", () => {
    const roofs = roofsOf(H200, new Set());
    const { x, y } = domainOf([op(0.4, 0.2), op(800, 700)], roofs, 4800);
    expect(x).toEqual([0.1, 1000]);
    expect(y[0]).toBe(0.1);
    expect(y[1]).toBe(10_000);
  });
  it("is not pressed flat by one tiny operator, which then stands beyond", () => {
    const tiny = op(0.1, 1e-9);
    const domain = domainOf([tiny, op(100, 500)], [], undefined);
    expect(domain.y[1] / domain.y[0]).toBeCloseTo(1e6);
    expect(isBeyond(tiny, domain)).toBe(true);
    expect(isBeyond(op(100, 500), domain)).toBe(false);
  });
  it("has no place for what only moves data", () => {
    expect(hasPlace(op(0, 0))).toBe(false);
    expect(hasPlace({ ...op(1, 1), intensity: null })).toBe(false);
    expect(hasPlace(op(1, 1))).toBe(true);
    expect(domainOf([op(0, 0)], [], undefined)).toEqual({ x: [0.1, 1000], y: [0.1, 1000] });
  });
  it("keeps labels apart and in their order", () => {
    expect(spread([10, 12, 40], 13)).toEqual([10, 23, 40]);
    expect(spread([5, 5, 5], 13)).toEqual([5, 18, 31]);
  });
});

describe("marks", () => {
  it("grow in area with time, within limits", () => {
    expect(radius(0.2) ** 2 / radius(0.1) ** 2).toBeCloseTo(2);
    expect(radius(0)).toBe(radius(1e-9));
    expect(radius(1)).toBe(radius(7));
  });
  it("have equal areas whatever their shape", () => {
    const corners = (path: string) => {
      // M, L, H and V with absolute coordinates.
      const points: [number, number][] = [];
      for (const [, letter, rest] of path.matchAll(/([MLHV])([^MLHVZ]*)/g)) {
        const [a = 0, b = 0] = (rest ?? "").trim().split(/[ ,]/).map(Number);
        const last = points.at(-1) ?? [0, 0];
        points.push(letter === "H" ? [a, last[1]] : letter === "V" ? [last[0], a] : [a, b]);
      }
      return points;
    };
    const area = (points: [number, number][]) =>
      Math.abs(
        points.reduce((sum, [x, y], i) => {
          const [nx, ny] = points[(i + 1) % points.length]!;
          return sum + x * ny - nx * y;
        }, 0) / 2,
      );
    for (const bound of ["memory", "host_bus", null])
      expect(area(corners(outline(bound, 10)))).toBeCloseTo(Math.PI * 100, 6);
  });
});
