import { describe, expect, it } from "vitest";
import { byField, bytes, count, digits, flops, percent, shortName, time } from "../../src/parts/format.ts";

describe("numbers as people read them", () => {
  it.each([
    [0, "0 ns"],
    [999, "999 ns"],
    [999.7, "1.000 µs"],
    [999_999, "1.000 ms"],
    [12_345_678, "12.35 ms"],
    [999_949_999, "999.9 ms"],
    [59_000_000_000, "59.00 s"],
    [119_000_000_000, "119.0 s"],
    [192_400_000_000, "3 m 12 s"],
    [7_500_000_000_000, "2 h 05 m"],
    [-1500, "-1.500 µs"],
    [-0.2, "0 ns"],
  ])("time %d", (ns, text) => expect(time(ns)).toBe(text));

  it("bytes by 1024, FLOPs by 1000, both without four digits before the point", () => {
    expect(bytes(0)).toBe("0 B");
    expect(bytes(1023)).toBe("1023 B");
    expect(bytes(1536)).toBe("1.50 KiB");
    expect(bytes(1023.7 * 1024)).toBe("1.00 MiB");
    expect(bytes(-490 * 1024 * 1024)).toBe("-490 MiB");
    expect(flops(0)).toBe("0");
    expect(flops(999.9e9)).toBe("1.00 TFLOP");
  });

  it("shares that are nearly nothing or nearly everything do not read so", () => {
    expect(percent(0)).toBe("0%");
    expect(percent(0.0004)).toBe("<0.1%");
    expect(percent(-0.0004)).toBe(">-0.1%");
    expect(percent(0.123)).toBe("12.3%");
    expect(percent(0.93)).toBe("93.0%");
    expect(percent(0.9997)).toBe(">99.9%");
    expect(percent(1)).toBe("100%");
    expect(percent(1 - 1e-12)).toBe("100%");
    expect(percent(12.5)).toBe("1,250%");
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
    expect(byField("wall_ns", 1500)).toBe("1.500 µs");
    expect(byField("shared_memory_bytes", 2048)).toBe("2.00 KiB");
    expect(byField("occupancy_percent", 50)).toBe("50.0%");
    expect(byField("tc_self_share", 0.5)).toBe("50.0%");
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
