import { describe, expect, it } from "vitest";
import { about } from "../../src/parts/format.ts";
import type { Finding } from "../../src/views/overview/types.ts";
import { firstChange, stepWords, unprofiledWords } from "../../src/views/overview/words.ts";

const times = (step: number, unprofiled: number, low: number, high: number) => ({
  step_ns: step,
  unprofiled_step_ns: unprofiled,
  unprofiled_step_low_ns: low,
  unprofiled_step_high_ns: high,
});

describe("words of the overview", () => {
  it("round estimates to two digits, as the terminal does", () => {
    const shown = [0, 7, 814, 1_234, 9_960_000, 24_600_000, 123_400_000, 1_340_000_000, -24_600_000, 600e9];
    expect(shown.map(about)).toEqual([
      "0 ns",
      "7 ns",
      "810 ns",
      "1.23 µs",
      "10.0 ms",
      "25 ms",
      "123 ms",
      "1.34 s",
      "-25 ms",
      "10 m 00 s",
    ]);
  });

  it("say how long a step takes here and without the profiler", () => {
    expect(stepWords(times(39.14e6, 25.1e6, 23.2e6, 28.4e6), false)).toBe(
      "39.14 ms per step here, about 25 ms (23 to 28 ms) without the profiler",
    );
    expect(stepWords(times(39.14e6, 39e6, 38.9e6, 39.1e6), false, true)).toBe(
      "39.14 ms per step here; what the profiler adds to it is unknown",
    );
    expect(stepWords(times(39.14e6, 39e6, 38.9e6, 39.1e6), true)).toBe(
      "39.14 ms in total; the profiler adds little overhead",
    );
  });

  it("say what a fix saves without the profiler only where it differs", () => {
    const finding = (share: number, unprofiled: number) =>
      ({ saves_share: share, saves_unprofiled_share: unprofiled, saves_unprofiled_ns: 2.1e6 }) as Finding;
    expect(unprofiledWords(finding(0.5, 0.3))).toBe("2.1 ms (30.0%) without the profiler");
    expect(unprofiledWords(finding(0.5, 0.48))).toBeUndefined();
  });

  it("show the first line that changes something", () => {
    expect(firstChange("# first\n\n    x = 1\ny = 2")).toBe("x = 1");
    expect(firstChange("# only words")).toBe("# only words");
    expect(firstChange("")).toBeUndefined();
  });
});
