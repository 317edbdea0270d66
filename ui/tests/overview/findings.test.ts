import { describe, expect, it } from "vitest";
import type { CauseRow } from "../../src/data/account.ts";
import { causeCategory } from "../../src/parts/causes.ts";
import { barOrder, isIdle } from "../../src/views/overview/causes.ts";
import { amount, keysOf, openKeys, toggledKeys } from "../../src/views/overview/findings.ts";
import type { Finding } from "../../src/views/overview/types.ts";

function finding(rule: string, severity: Finding["severity"], saves_ns: number | null): Finding {
  return { rule, severity, saves_ns } as Finding;
}

describe("findings", () => {
  it("are told apart where a rule speaks twice", () => {
    expect(keysOf([finding("x", "low", 1), finding("y", "low", 1), finding("x", "low", 1)])).toEqual([
      "x",
      "y",
      "x.2",
    ]);
  });

  it("open as the URL says, none by itself", () => {
    const keys = ["x", "y", "x.2"];
    expect([...openKeys(keys, undefined)]).toEqual([]);
    expect([...openKeys(keys, "none")]).toEqual([]);
    expect([...openKeys(keys, "y,gone")]).toEqual(["y"]);
    expect(toggledKeys(keys, undefined, "y")).toBe("y");
    expect(toggledKeys(keys, "x,y", "x")).toBe("y");
    expect(toggledKeys(keys, "x", "x")).toBeUndefined();
  });

  it("write each figure in its unit", () => {
    expect(amount({ unit: "ns", value: 1_500_000 })).toBe("1.500 ms");
    expect(amount({ unit: "share", value: 0.5 })).toBe("50.0%");
    expect(amount({ unit: "bytes", value: 2048 })).toBe("2.00 KiB");
    expect(amount({ unit: "count", value: 12345 })).toBe("12,345");
    expect(amount({ unit: "text", value: "gloo" })).toBe("gloo");
  });
});

describe("causes", () => {
  const row = (
    cause: CauseRow["cause"],
    busy: boolean,
    total_ns: number,
    device: number | null = 0,
  ): CauseRow => ({
    device,
    cause,
    label: cause,
    busy,
    total_ns,
    per_step_ns: total_ns,
    share: 0,
  });

  it("show work before idle time, each largest first", () => {
    const rows = [
      row("host_python", false, 50),
      row("copy", true, 5),
      row("kernel", true, 20),
      row("dependency", false, 60),
    ];
    expect(barOrder(rows).map((r) => r.cause)).toEqual(["kernel", "copy", "dependency", "host_python"]);
  });

  it("are no idle time where there is no device to be idle", () => {
    expect(isIdle(row("host_operator", false, 1))).toBe(true);
    expect(isIdle(row("host_operator", false, 1, null))).toBe(false);
    expect(isIdle(row("host_unrecorded", false, 1, null))).toBe(true);
  });

  it("have a color even when new", () => {
    expect(causeCategory("kernel")).toBe(5);
    expect(causeCategory("something_new")).toBe(15);
  });
});
