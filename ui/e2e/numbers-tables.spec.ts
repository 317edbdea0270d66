// The tables say what the terminal says.

import type { KernelsAnswer, MemoryAnswer, ModulesAnswer, OpsAnswer } from "../src/data/wire.ts";
import { bytes, count, percent, shortName, time } from "../src/parts/format.ts";
import { expectAccessible } from "./support/axe.ts";
import { ask } from "./support/cli.ts";
import { expect, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { columnOf, metricsOf, rowsOf } from "./support/read.ts";

/** Rows compared: what fits the screen. */
const ROWS = 15;
const dashed = (value: number, format: (value: number) => string) => (value === 0 ? "–" : format(value));

for (const [name, trace] of Object.entries({ gpt: TRACES.gpt, nccl: TRACES.nccl })) {
  test(`operators of ${name}`, async ({ page, open }) => {
    await open(trace, "operators");
    const { ops, totals } = ask<OpsAnswer>("ops", trace, "--top", "0");
    const first = ops.slice(0, ROWS);
    const column = async (head: string) => (await columnOf(page, "Operators", head)).slice(0, ROWS);
    expect(await column("Name")).toEqual(first.map((op) => shortName(op.name)));
    expect(await column("Calls")).toEqual(first.map((op) => count(op.calls)));
    expect(await column("Device self")).toEqual(first.map((op) => dashed(op.device_self_ns, time)));
    expect(await column("Device total")).toEqual(first.map((op) => dashed(op.device_total_ns, time)));
    expect(await column("Host self")).toEqual(first.map((op) => dashed(op.host_self_ns, time)));
    expect(await column("Host total")).toEqual(first.map((op) => dashed(op.host_total_ns, time)));
    const ledger = page.locator(".ledger");
    await expect(ledger).toContainText(`${count(ops.length)} rows`);
    await expect(ledger).toContainText(time(totals.total_host_self_ns));
    await expect(ledger).toContainText(time(totals.total_device_self_ns));
  });

  test(`kernels of ${name}`, async ({ page, open }) => {
    await open(trace, "kernels");
    const { kernels = [], totals } = ask<KernelsAnswer>("kernels", trace, "--top", "0");
    const first = kernels.slice(0, ROWS);
    const table = (await page.locator("main table.table").first().getAttribute("aria-label")) ?? "";
    const column = async (head: string) => (await columnOf(page, table, head)).slice(0, ROWS);
    expect(await column("Name")).toEqual(first.map((row) => shortName(row.name)));
    expect(await column("Calls")).toEqual(first.map((row) => count(row.calls)));
    expect(await column("Total")).toEqual(first.map((row) => time(row.total_ns)));
    expect(await column("Mean")).toEqual(first.map((row) => time(row.mean_ns)));
    expect(await column("% kernels")).toEqual(first.map((row) => percent(row.share)));
    const ledger = page.locator(".ledger");
    await expect(ledger).toContainText(`${count(totals.kernel_calls)} kernels ${time(totals.kernel_ns)}`);
  });
}

test("operators sorted, grouped, filtered and narrowed to a step", async ({ page, open }) => {
  const asked = { sort: "calls", by: "shape", filter: "^aten::(mm|add)", step: "3" };
  await open(TRACES.gpt, "operators", asked);
  const options = Object.entries(asked).flatMap(([key, value]) => [`--${key}`, value]);
  const { ops } = ask<OpsAnswer>("ops", TRACES.gpt, "--top", "0", ...options);
  expect(ops.length).toBeGreaterThan(3);
  const first = ops.slice(0, ROWS);
  expect((await columnOf(page, "Operators", "Name")).slice(0, ROWS)).toEqual(first.map((op) => op.name));
  expect((await columnOf(page, "Operators", "Input shapes")).slice(0, ROWS)).toEqual(
    first.map((op) => op.input_shapes),
  );
  expect((await columnOf(page, "Operators", "Calls")).slice(0, ROWS)).toEqual(
    first.map((op) => count(op.calls)),
  );
});

test("every row can be scrolled to", async ({ page, open }) => {
  await open(TRACES.stacks, "operators", { by: "stack", sort: "name" });
  const { ops } = ask<OpsAnswer>("ops", TRACES.stacks, "--top", "0", "--by", "stack", "--sort", "name");
  expect(ops.length, "more than one page of rows").toBeGreaterThan(200);
  await page.locator(".table-scroll").evaluate((element) => element.scrollTo(0, element.scrollHeight));
  const last = page.locator(`table[aria-label=Operators] tr[data-index="${ops.length - 1}"]`);
  await expect(last.locator(".mono-name")).toHaveAttribute("title", ops[ops.length - 1]?.name ?? "");
});

test("memory of the process, where a recording watched it", async ({ page, open }) => {
  await open(TRACES.growing, "memory");
  const { process } = ask<MemoryAnswer>("memory", TRACES.growing);
  const [resident, shared] = process ?? [];
  expect([resident?.measure, shared?.measure]).toEqual(["RSS", "PSS"]);
  const card = page.getByRole("region", { name: "Memory of the process" });
  await expect(card).toContainText(bytes(resident!.process_peak_bytes));
  await expect(card).toContainText(bytes(resident!.process_first_bytes));
  await expect(card).toContainText(bytes(shared!.process_last_bytes));
  await expect(card.getByRole("img")).toBeVisible();
  await expectAccessible(page, "memory of the process");
});

test("memory", async ({ page, open }) => {
  await open(TRACES.gpt, "memory");
  const answer = ask<MemoryAnswer>("memory", TRACES.gpt, "--top", "0");
  const device = answer.devices?.find((one) => (one.device_id ?? -1) >= 0);
  if (!device) throw new Error("no accelerator in this trace");
  expect(await metricsOf(page)).toEqual({
    "Peak allocated": bytes(device.peak_allocated_bytes),
    "Peak reserved": bytes(device.peak_reserved_bytes ?? Number.NaN),
    "At start": bytes(device.opening_allocated_bytes),
    Allocated: bytes(device.allocated_bytes),
    Freed: bytes(device.freed_bytes),
    "Still live": bytes(device.still_live_bytes),
  });
  const own = (answer.operators ?? []).filter((row) => row.device === device.device);
  const want = own.sort((a, b) => b.self_allocated_bytes - a.self_allocated_bytes).slice(0, 8);
  const shown = (await rowsOf(page, `Operators by memory on ${device.device}`)).slice(0, 8);
  expect(shown.map((row) => row.slice(0, 3))).toEqual(
    want.map((row) => [row.name, count(row.calls), bytes(row.self_allocated_bytes)]),
  );
});

test("modules", async ({ page, open }) => {
  await open(TRACES.stacks, "modules", { open: "all" });
  const { modules, ledger } = ask<ModulesAnswer>("modules", TRACES.stacks, "--top", "0");
  expect(modules.length).toBeGreaterThan(10);
  const shown = await rowsOf(page, "Modules");
  expect(shown.length).toBe(modules.length);
  expect(shown.map((row) => row[0]?.split(" ")[0])).toEqual(modules.map((row) => row.name));
  expect(await columnOf(page, "Modules", "Calls")).toEqual(
    modules.map((row) => count(row.occurrences ?? Number.NaN)),
  );
  expect(await columnOf(page, "Modules", "Device total")).toEqual(
    modules.map((row) => dashed(row.device_total_ns, time)),
  );
  expect(await columnOf(page, "Modules", "Host total")).toEqual(
    modules.map((row) => dashed(row.host_total_ns, time)),
  );
  const parts = page.locator(".mod-parts");
  for (const field of ["forward_device_ns", "backward_device_ns", "outside_device_ns"] as const)
    await expect(parts).toContainText(time(ledger[field]));
});
