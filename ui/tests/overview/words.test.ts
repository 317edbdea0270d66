import { describe, expect, it } from "vitest";
import { about } from "../../src/parts/format.ts";
import type { Finding } from "../../src/views/overview/types.ts";
import { firstChange, saving } from "../../src/views/overview/words.ts";

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

  const finding = (share: number, unprofiled: number) =>
    ({
      saves_ns: share * 7e6,
      saves_share: share,
      saves_unprofiled_share: unprofiled,
      saves_unprofiled_ns: 2.1e6,
    }) as Finding;

  it("say what a fix saves without the profiler only where it differs", () => {
    const bare = "2.1 ms (30.0%) without the profiler";
    expect(saving(finding(0.5, 0.3), false)).toEqual({ here: "3.500 ms (50.0%)", bare });
    expect(saving(finding(0.5, 0.48), false)).toEqual({ here: "3.500 ms (50.0%)" });
  });

  it("leave out a saving of nothing, and what was recorded where the bare step was timed", () => {
    const bare = "2.1 ms (30.0%) without the profiler";
    expect(saving(finding(0, 0.3), false)).toEqual({ bare });
    expect(saving(finding(0.5, 0.3), true)).toEqual({ bare });
    expect(saving(finding(0, 0), false)).toEqual({});
  });

  it("show the first line that changes something", () => {
    expect(firstChange("# first\n\n    x = 1\ny = 2")).toBe("x = 1");
    expect(firstChange("# only words")).toBe("# only words");
    expect(firstChange("")).toBeUndefined();
  });
});
