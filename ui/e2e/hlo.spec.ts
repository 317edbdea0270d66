// Instructions of compiled programs: the table has the terminal's numbers, a click moves through the program, and memory shows
// what the compiler planned beside what was used.

import { bytes, time } from "../src/parts/format.ts";
import { expectAccessible } from "./support/axe.ts";
import { ask } from "./support/cli.ts";
import { expect, test } from "./support/fixtures.ts";
import { XLA } from "./support/paths.ts";

interface Hlo {
  instructions: { name: string; self_ns: number; calls: number }[];
}

interface Plan {
  programs: { program: string; planned_bytes: number; program_peak_bytes: number }[];
  buffers: { instruction: string; buffer_bytes: number }[];
}

test("the table has the terminal's numbers", async ({ page, open }) => {
  await open(XLA, "hlo");
  const table = page.getByRole("table", { name: "By instruction" });
  for (const [at, row] of ask<Hlo>("hlo", XLA).instructions.entries()) {
    await expect(table.getByRole("row").nth(at + 1)).toContainText(row.name);
    await expect(table.getByRole("row").nth(at + 1)).toContainText(time(row.self_ns));
  }
  await expect(page.locator(".ledger")).toContainText("By order");
  await expectAccessible(page, "hlo");
});

test("lines of source code have their device time", async ({ page, open }) => {
  await open(XLA, "hlo", { by: "line" });
  const first = page.getByRole("table", { name: "By line" }).getByRole("row").nth(1);
  await expect(first).toContainText("train.py:12");
  await expect(first).toContainText(time(300_000));
  await first.getByRole("link").click();
  // The file is not on this machine; its lines have numbers all the same.
  await expect(page.getByRole("table", { name: "Source" })).toContainText(time(300_000));
});

test("a click moves through the program, and so does the keyboard", async ({ page, open }) => {
  await open(XLA, "hlo", { open: 0 });
  const around = page.locator(".hlo-around");
  await expect(around.locator(".focus")).toContainText("custom-call.2");
  const neighbor = (name: string) =>
    around.locator("button.hlo-node").filter({ has: page.getByText(name, { exact: true }) });
  const [left, right] = [neighbor("loop_multiply_fusion"), neighbor("loop_multiply_fusion.1")];
  const [before, after] = [await left.boundingBox(), await right.boundingBox()];
  expect(before!.x).toBeLessThan(after!.x);
  await left.click();
  await expect(around.locator(".focus")).toContainText("loop_multiply_fusion");
  // What is fused into it is there to be unfolded.
  await around.locator("summary").click();
  await expect(around.getByRole("table", { name: "Fused instructions" })).toContainText("tanh.0");
  await expectAccessible(page, "hlo");
  await neighbor("custom-call.1").focus();
  await page.keyboard.press("Enter");
  await expect(around.locator(".focus")).toContainText("custom-call.1");
  await around.getByRole("button", { name: "Back to custom-call.2" }).click();
  await expect(around.locator(".focus")).toContainText("custom-call.2");
});

test("memory shows what was used and what was planned", async ({ page, open }) => {
  await open(XLA, "memory");
  await expect(page.locator(".mem-chart").first()).toBeVisible();
  const told = ask<Plan>("memory", XLA);
  const programs = page.getByRole("table", { name: "Compiled programs" });
  await expect(programs).toContainText(told.programs[0]!.program);
  await expect(programs).toContainText(bytes(told.programs[0]!.program_peak_bytes));
  const buffers = page.getByRole("table", { name: "Buffers at the peak" });
  for (const [at, row] of told.buffers.slice(0, 3).entries()) {
    await expect(buffers.getByRole("row").nth(at + 1)).toContainText(row.instruction);
    await expect(buffers.getByRole("row").nth(at + 1)).toContainText(bytes(row.buffer_bytes));
  }
  await expectAccessible(page, "memory");
});
