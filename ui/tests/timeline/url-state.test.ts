import { describe, expect, it } from "vitest";
import { type Address, formatAddress, parseAddress, parseRanges } from "../../src/views/timeline/url-state.ts";

const full: Address = {
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

describe("the address", () => {
  it("comes back as it was written", () => {
    expect(parseAddress(formatAddress(full))).toEqual(full);
    const exact = { ...full, exact: true };
    expect(parseAddress(formatAddress(exact))).toEqual(exact);
  });

  it("is empty where nothing was chosen", () => {
    const empty = parseAddress({});
    expect(Object.values(formatAddress(empty)).every((value) => value === undefined)).toBe(true);
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
    const address = parseAddress(params);
    expect(address.window).toBeUndefined();
    expect(address.sel).toBeUndefined();
    expect(address.area).toBeUndefined();
    expect(address.marks).toEqual({ current: undefined, kept: [] });
    expect(address.folded).toEqual([]);
  });

  it("does not list rows for ever", () => {
    expect(parseRanges("0-2,5")).toEqual([0, 1, 2, 5]);
    expect(parseRanges("0-99999999999").length).toBeLessThanOrEqual(1 << 20);
  });
});
