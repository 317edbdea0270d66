import { describe, expect, it } from "vitest";
import type { BusRow } from "../../src/data/wire.ts";
import { busOf, copyLabel, sums } from "../../src/views/transfers/copies.ts";

const copy = (rest: Partial<BusRow>): BusRow => ({
  device: 0,
  direction: "host_to_device",
  memory: "pinned",
  calls: 1,
  bytes: 10,
  total_ns: 5,
  exposed_ns: 3,
  host_ns: 1,
  bytes_per_second: null,
  large_bytes_per_second: null,
  of_bus: null,
  ...rest,
});

describe("copies", () => {
  it("add up, those of unknown size as nothing", () => {
    expect(sums([copy({}), copy({ bytes: null, calls: 4 })])).toEqual({
      calls: 5,
      bytes: 10,
      total_ns: 10,
      exposed_ns: 6,
      host_ns: 2,
    });
  });
  it("tell what the bus can do", () => {
    expect(busOf([copy({}), copy({ large_bytes_per_second: 32e9, of_bus: 0.5 })])).toBe(64e9);
    expect(busOf([copy({ large_bytes_per_second: 1e9 })])).toBeUndefined();
  });
  it("are named by where they go and from what memory", () => {
    expect(copyLabel(copy({}), false)).toBe("host to device, pinned");
    expect(copyLabel(copy({ memory: "unknown", direction: "peer" }), true)).toBe(
      "device to another device (device 0)",
    );
  });
});
