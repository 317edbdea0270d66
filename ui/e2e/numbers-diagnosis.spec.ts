// The diagnosis says what the terminal says.

import type { CriticalPathAnswer, GapsAnswer, RooflineAnswer, WhatIfAnswer } from "../src/data/wire.ts";
import { atLeast, count, digits, flops, percent, shortName, time } from "../src/parts/format.ts";
import { ask } from "./support/cli.ts";
import { expect, idle, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { columnOf, metricsOf } from "./support/read.ts";

for (const step of [undefined, "3"]) {
  test(`idle time of ${step ? `step ${step}` : "all steps"}`, async ({ page, open }) => {
    await open(TRACES.gpt, "diagnosis", { tab: "idle", ...(step ? { step } : {}) });
    const options = step ? ["--step", step] : [];
    const { totals, kinds, culprits } = ask<GapsAnswer>("gaps", TRACES.gpt, "--top", "0", ...options);
    expect(await metricsOf(page)).toEqual({
      Idle: time(totals.idle_ns),
      "Share of step time": percent(totals.idle_ns / totals.wall_ns),
      Gaps: count(totals.gaps),
      Longest: time(Math.max(...kinds.map((kind) => kind.max_ns))),
    });
    const first = culprits.slice(0, 8);
    expect((await columnOf(page, "Causes of idle time", "Pieces")).slice(0, 8)).toEqual(
      first.map((row) => count(row.pieces)),
    );
    const names = page.locator('table[aria-label="Causes of idle time"] tbody tr td:first-child');
    expect((await names.allInnerTexts()).slice(0, 8)).toEqual(first.map((row) => shortName(row.culprit)));
  });
}

test("what if: each change alone", async ({ page, open }) => {
  await open(TRACES.gpt, "diagnosis", { tab: "what-if" });
  const { what_if } = ask<WhatIfAnswer>("what-if", TRACES.gpt, "--top", "0");
  const useful = what_if.filter((row) => row.saves_ns > 0);
  expect(useful.length).toBeGreaterThan(2);
  const names = page.locator('table[aria-label="What would help most"] tbody tr td:first-child bdi');
  expect(await names.evaluateAll((all) => all.map((name) => name.getAttribute("title")))).toEqual(
    useful.map((row) => row.change),
  );
  await expect(page.locator(".versus")).toContainText(time(what_if[0]?.measured_ns ?? 0));
});

test("what if: changes combined", async ({ page, open }) => {
  await open(TRACES.gpt, "diagnosis", { tab: "what-if" });
  await page.getByRole("checkbox", { name: "Free launches" }).check();
  const slider = page.locator("label.what-if-slider").filter({ hasText: "aten::mm" }).first().locator("input");
  await slider.focus();
  for (let stop = 0; stop < 3; stop++) await slider.press("ArrowRight");
  await idle(page);
  await expect(
    page.locator("label.what-if-slider").filter({ hasText: "aten::mm" }).locator("output").first(),
  ).toHaveText("2×");
  const options = ["--op", "aten::mm", "--speedup", "2", "--free-launches"];
  const [row] = ask<WhatIfAnswer>("what-if", TRACES.gpt, ...options).what_if;
  if (!row) throw new Error("no answer");
  await expect(page.locator(".versus")).toContainText(time(row.predicted_ns));
  const shown = await metricsOf(page.locator(".what-if-result"));
  expect(shown.Saves).toBe(time(row.saves_ns));
  expect(shown["Of the step"]).toBe(percent(row.saves_share));
  expect(shown.Speedup).toBe(`${digits(row.speedup)}×`);
});

test("roofline", async ({ page, open }) => {
  await open(TRACES.gpt, "diagnosis", { tab: "roofline" });
  const { mean_mfu, lower_bound, totals } = ask<RooflineAnswer>("roofline", TRACES.gpt);
  expect(await metricsOf(page)).toEqual({
    "Mean MFU": (lower_bound ? atLeast : percent)(mean_mfu ?? Number.NaN),
    "Of roofline": percent((totals.ideal_ns ?? Number.NaN) / totals.modeled_ns),
    "Modeled share": percent(totals.modeled_share ?? Number.NaN),
    "TFLOP/s": digits(totals.flops / totals.modeled_ns / 1000),
  });
  await expect(page.locator(".metrics")).toContainText(flops(totals.flops));
});

test("the critical path", async ({ page, open }) => {
  await open(TRACES.gpt, "diagnosis", { tab: "path" });
  const { path = [], wall_ns } = ask<CriticalPathAnswer>("critical-path", TRACES.gpt, "--top", "0");
  expect(path.length).toBeGreaterThan(0);
  await expect(page.locator(".lead")).toContainText(time(wall_ns));
  const names = page.locator('table[aria-label="Names on the critical path"] tbody tr td:first-child bdi');
  const shown = await names.evaluateAll((all) => all.map((name) => name.getAttribute("title")));
  expect(shown.slice(0, 10)).toEqual(path.slice(0, 10).map((row) => row.name));
});
