import { describe, expect, it } from "vitest";
import { cause, gapKind, partOf, pathClass, word } from "../../src/parts/key-names.ts";

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
