// Two runs compared in one file: what the live page shows, without a server and without a network.

import { statSync } from "node:fs";
import { signedTime } from "../src/parts/format.ts";
import { expectAccessible } from "./support/axe.ts";
import { diff } from "./support/cli.ts";
import { address, expect, idle, test, turnTo, visit } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { columnOf, rowsOf, shown } from "./support/read.ts";
import { offline, sectionsOf, urlOf } from "./support/report.ts";

const { slowLoader: SLOW, fastLoader: FAST } = TRACES;

// By one worker: each would write the same files.
test.describe.configure({ mode: "default" });

test("the comparison opens from a file, without a network", async ({ page, context, comparisonOf }) => {
  const asked = await offline(context);
  const { file, said } = comparisonOf(SLOW, FAST);
  expect(said).toContain(file);
  await visit(page, urlOf(file));
  await expect(page).toHaveTitle(/conv_slow_loader · Compare · Stepscope/);
  const answer = diff(SLOW, FAST);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict).toContainText(answer.judged.sentence);
  await expect(verdict).toContainText(answer.judged.because ?? "nothing");
  await expect(verdict).toContainText(answer.judged.rests_on);
  const first = [...answer.rows].sort((a, b) => Math.abs(b.delta_ns) - Math.abs(a.delta_ns)).slice(0, 10);
  expect((await columnOf(page, "Changes by place", "Change")).slice(0, 10)).toEqual(
    first.map((row) => signedTime(row.delta_ns)),
  );
  expect((await rowsOf(page, "Metrics")).length).toBe(answer.metrics.length);
  expect((await rowsOf(page, "Findings")).length).toBe(answer.findings.length);
  await expectAccessible(page, "a comparison in one file");
  await page.getByRole("button", { name: "Swap" }).click();
  await idle(page);
  await expect(verdict).toContainText(diff(FAST, SLOW).judged.sentence);
  await page.getByRole("button", { name: "Swap" }).click();
  await page.getByRole("tab", { name: "Flame graph" }).click();
  await idle(page);
  await expect(page.locator(".flame-selected")).toContainText("→");
  await page.getByRole("tab", { name: "Timelines" }).click();
  await idle(page);
  await expect(page.getByRole("region", { name: "Timeline of B" }).locator(".tl-tracks")).toBeVisible();
  await expect(page.locator(".compare-timelines .card-note")).toContainText("%");
  expect(asked, "asked for from elsewhere").toEqual([]);
});

test("both runs are whole in it", async ({ page, context, serve, comparisonOf }) => {
  const { file } = comparisonOf(SLOW, FAST);
  await visit(page, urlOf(file));
  for (const id of [0, 1]) {
    const trace = [SLOW, FAST][id]!;
    for (const view of ["overview", "operators", "kernels", "flame", "timeline", "diagnosis"] as const) {
      await turnTo(page, address(view, { run: id }));
      await expect(page.locator("main .trouble"), `${view} of ${id}`).toHaveCount(0);
      await expect(page.locator("main .skeleton"), `${view} of ${id}`).toHaveCount(0);
    }
    await turnTo(page, address("operators", { run: id }));
    const live = await context.newPage();
    await visit(live, `${(await serve(trace)).url}${address("operators")}`);
    expect((await rowsOf(page, "Operators")).slice(0, 8), trace).toEqual(
      (await rowsOf(live, "Operators")).slice(0, 8),
    );
    await live.close();
  }
});

test("it fits the size asked for, and can be shared", async ({ page, comparisonOf }) => {
  const { file } = comparisonOf(SLOW, FAST, "--max-size", "2M", "--redact");
  expect(statSync(file).size).toBeLessThanOrEqual(2 * 1024 * 1024);
  for (const text of sectionsOf(file).values()) expect(text).not.toMatch(/\/home\/|\/usr\/lib/);
  await visit(page, urlOf(file));
  await expect(page.locator(".notice")).toContainText("--redact");
  await expect(page.getByRole("region", { name: "Verdict" })).toBeVisible();
  expect(await shown(page.locator("main"))).not.toContain("undefined");
});

test("a report of one run says how to compare", async ({ page, reportOf }) => {
  await visit(page, `${urlOf(reportOf(SLOW).file)}#/compare`);
  await expect(page.locator("main")).toContainText("stepscope diff");
  await expect(page.locator("main")).toContainText("--html");
});
