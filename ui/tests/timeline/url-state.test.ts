import { describe, expect, it } from "vitest";
import {
  formatUrlState,
  parseRanges,
  parseUrlState,
  type UrlState,
} from "../../src/views/timeline/url-state.ts";

const full: UrlState = {
  window: { from: 100, to: 9_007_199_254_740_000 },
  sel: 0x80000007,
  area: { from: 5, to: 10, rows: [0, 1, 2, 5, 9] },
  query: "a,b&c=/d/",
  exact: false,
  pins: ["g3", "c:memory,1"],
  folded: ["counters", "g12"],
  marks: { current: { from: 1, to: 2 }, kept: [{ from: 3, to: 4 }] },
  path: true,
  empty: true,
};

describe("the URL", () => {
  it("comes back as it was written", () => {
    expect(parseUrlState(formatUrlState(full))).toEqual(full);
    const exact = { ...full, exact: true };
    expect(parseUrlState(formatUrlState(exact))).toEqual(exact);
  });

  it("is empty where nothing was chosen", () => {
    const empty = parseUrlState({});
    expect(Object.values(formatUrlState(empty)).every((value) => value === undefined)).toBe(true);
  });

  it("ignores what makes no sense", () => {
    const params = {
      from: "x",
      to: "5",
      sel: "",
      area: "9-5-0",
      mark: "1-x,~,2",
      pins: "%E0%A4%A",
      collapsed: ",,",
    };
    const state = parseUrlState(params);
    expect(state.window).toBeUndefined();
    expect(state.sel).toBeUndefined();
    expect(state.area).toBeUndefined();
    expect(state.marks).toEqual({ current: undefined, kept: [] });
    expect(state.folded).toEqual([]);
  });

  it("does not list rows for ever", () => {
    expect(parseRanges("0-2,5")).toEqual([0, 1, 2, 5]);
    expect(parseRanges("0-99999999999").length).toBeLessThanOrEqual(1 << 20);
  });
});
