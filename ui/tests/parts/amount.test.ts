import { expect, test } from "vitest";
import { amount } from "../../src/parts/format.ts";

test("an amount of a profile has its own unit", () => {
  expect(amount(1_500_000, "nanoseconds")).toBe("1.500 ms");
  expect(amount(12_345, "samples")).toBe("12,345");
  expect(amount(3 * 1024, "bytes")).toBe("3.00 KiB");
});
