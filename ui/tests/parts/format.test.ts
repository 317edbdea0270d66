import { describe, expect, it } from "vitest";
import { byField, bytes, count, digits, flops, percent, shortName, time } from "../../src/parts/format.ts";

describe("numbers as people read them", () => {
  it.each([
    [0, "0 ns"],
    [999, "999 ns"],
    [999.7, "1.00 µs"],
    [999_600, "1.00 ms"],
    [12_345_678, "12.3 ms"],
    [999_499_999, "999 ms"],
    [59_000_000_000, "59.0 s"],
    [61_500_000_000, "1 min 1.50 s"],
    [-1500, "-1.50 µs"],
  ])("time %d", (ns, text) => expect(time(ns)).toBe(text));

  it("bytes by 1024, FLOPs by 1000, both without four digits before the point", () => {
    expect(bytes(0)).toBe("0 B");
    expect(bytes(1536)).toBe("1.50 KiB");
    expect(bytes(-490 * 1024 * 1024)).toBe("-490 MiB");
    expect(flops(0)).toBe("0");
    expect(flops(999.9e9)).toBe("1.00 TFLOP");
  });

  it("shares that are tiny or whole are not rounded into a lie", () => {
    expect(percent(0)).toBe("0 %");
    expect(percent(0.0004)).toBe("< 0.1 %");
    expect(percent(0.123)).toBe("12.3 %");
    expect(percent(1)).toBe("100 %");
    expect(percent(Number.NaN)).toBe("–");
  });

  it("three digits", () => {
    expect([digits(1.234), digits(12.34), digits(123.4), digits(1234)]).toEqual([
      "1.23",
      "12.3",
      "123",
      "1234",
    ]);
    expect(count(1234567)).toBe("1,234,567");
  });

  it("by what the field's name says", () => {
    expect(byField("wall_ns", 1500)).toBe("1.50 µs");
    expect(byField("shared_memory_bytes", 2048)).toBe("2.00 KiB");
    expect(byField("occupancy_percent", 50)).toBe("50.0 %");
    expect(byField("tc_self_share", 0.5)).toBe("50.0 %");
    expect(byField("tc_eligible", true)).toBe("yes");
    expect(byField("tc_eligible", false)).toBe("");
    expect(byField("streams", [7, 20])).toBe("7 20");
    expect(byField("anything", null)).toBe("");
  });
});

describe("short names", () => {
  it("leave out what every name has, and never everything", () => {
    expect(shortName("void at::native::(anonymous namespace)::k<float>(int)")).toBe("k<float>(int)");
    expect(shortName("autograd::engine::evaluate_function: AddmmBackward0")).toBe("autograd: AddmmBackward0");
    expect(shortName("at::native::")).toBe("at::native::");
  });
});
