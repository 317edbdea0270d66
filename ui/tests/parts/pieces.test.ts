import { describe, expect, it } from "vitest";
import { gather, type Piece, place } from "../../src/parts/charts/pieces.ts";

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
