// The history of a baseline in the browser: what `stepscope history` prints, drawn.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expectAccessible } from "./support/axe.ts";
import { run } from "./support/cli.ts";
import { expect, idle, params, test, visit } from "./support/fixtures.ts";
import { rowsOf } from "./support/read.ts";
import { type LiveServer, startServer } from "./support/server.ts";

const REGEX = "step (?P<us>[0-9]+) us";

/** Ten measurements of about 10 ms, then six of about 12 ms. */
function measure(folder: string): string {
  const store = join(folder, "baselines");
  mkdirSync(store, { recursive: true });
  for (let at = 0; at < 16; at++) {
    // Files have the second in their name: the two levels must not share one.
    if (at === 10) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
    const us = (at < 10 ? 10_000 : 12_000) + ((at * 37) % 50);
    const line = [0, 1, 2, 3].map((step) => `echo 'step ${us + step} us'`).join("; ");
    const words = ["--store", store, "--repeats", "2", "--metric-regex", REGEX, "--", "sh", "-c", line];
    const { status, stderr } = run("baseline", "update", "--create", "main", ...words);
    if (status !== 0) throw new Error(stderr);
  }
  return store;
}

// In one worker: measuring takes longer than looking.
test.describe.configure({ mode: "default" });

let store: string;
let server: LiveServer;
test.beforeAll(async ({ shelf }) => {
  store = measure(shelf);
  server = await startServer(["--view", "--store", store], "history");
});
test.afterAll(() => server.stop());

test("a change of level is drawn and named", async ({ page }) => {
  await visit(page, `${server.url}#/history?metric=step_time`);
  const { stdout } = run("history", "step_time", "--store", store, "--format", "json");
  const rows = JSON.parse(stdout) as {
    value: number;
    change: { at: number; before: number; after: number } | null;
  }[];
  const change = rows.find((row) => row.change)?.change;
  expect(change?.at).toBe(10);
  const terminal = run("history", "step_time", "--store", store).stdout;
  const [sentence] = await page.locator(".history-changes li").allInnerTexts();
  expect(terminal).toContain(sentence?.trim());
  await expect(page.locator(".history-point")).toHaveCount(rows.length);
  await expect(page.locator(".history-change.worse")).toHaveCount(1);
  await expect(page.locator(".history-level")).toHaveCount(2);
  expect((await rowsOf(page, "Measurements")).length).toBe(rows.length);
  await expectAccessible(page, "a history");
  // Higher is later: the points after the change are above all before it.
  const heights = await page
    .locator(".history-point circle")
    .evaluateAll((all) => all.map((one) => Number(one.getAttribute("cy"))));
  expect(Math.max(...heights.slice(10))).toBeLessThan(Math.min(...heights.slice(0, 10)));
});

test("metrics are chosen, linked and refused", async ({ page, complaints }) => {
  complaints.expect(/400 \(Bad Request\)/);
  await visit(page, `${server.url}#/history`);
  await expect(page.getByRole("navigation")).toContainText("History");
  await page.getByRole("combobox", { name: "Metric" }).selectOption("wall_time");
  await idle(page);
  expect(params(page).metric).toBe("wall_time");
  await expect(page.locator(".history-point")).toHaveCount(16);
  await visit(page, `${server.url}#/history?metric=step_time_p95`);
  await expect(page.locator(".history-point")).toHaveCount(16);
  await visit(page, `${server.url}#/history?metric=nonsense`);
  await expect(page.locator(".trouble")).toContainText("no such metric: nonsense");
  for (const width of [400, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await visit(page, `${server.url}#/history?metric=step_time`);
    const wide = await page.evaluate(() => {
      const main = document.querySelector("main");
      return main ? main.scrollWidth - main.clientWidth : -1;
    });
    expect(wide, `at ${width}`).toBeLessThanOrEqual(1);
  }
});
