import { describe, expect, it } from "vitest";
import { MAX_RECORDINGS, parseSide, sidesOf, toggled, withFirst } from "../../src/views/compare/sides.ts";

const KNOWN = [0, 1, 2, 3];

describe("sides", () => {
  it("are what the URL names, without what is not there", () => {
    expect(parseSide("0,2", KNOWN)).toEqual([0, 2]);
    expect(parseSide("2,0,2,9,x,-1,1e0,", KNOWN)).toEqual([2, 0]);
    expect(parseSide("9", KNOWN)).toBeUndefined();
    expect(parseSide(undefined, KNOWN)).toBeUndefined();
    expect(parseSide("", KNOWN)).toBeUndefined();
    const many = Array.from({ length: 20 }, (_, id) => id);
    expect(parseSide(many.join(","), many)).toHaveLength(MAX_RECORDINGS);
  });

  it("are the run looked at and the first other one, unless the URL says otherwise", () => {
    expect(sidesOf(undefined, undefined, KNOWN, 1)).toEqual([[1], [0]]);
    expect(sidesOf("0,1", undefined, KNOWN, 0)).toEqual([[0, 1], [2]]);
    expect(sidesOf("3", "3", KNOWN, 0)).toEqual([[3], [3]]);
    expect(sidesOf(undefined, undefined, [0], 0)).toBeUndefined();
    expect(sidesOf(undefined, undefined, [], undefined)).toBeUndefined();
  });

  it("keep their first recording", () => {
    expect(toggled([0], 2)).toEqual([0, 2]);
    expect(toggled([0, 2], 2)).toEqual([0]);
    expect(toggled([0, 2], 0)).toEqual([0, 2]);
    expect(withFirst([0, 2, 3], 3)).toEqual([3, 2]);
    expect(withFirst([0, 2], 1)).toEqual([1, 2]);
  });
});
