// The overview says what the terminal says.

import type { Account } from "../src/data/account.ts";
import { atLeast, count, percent, plain, time } from "../src/parts/format.ts";
import {
  type FindingsAnswer,
  type GpuAnswer,
  type InfoAnswer,
  PARTS,
  type Roofline,
  type StepsAnswer,
  type Summary,
} from "../src/views/overview/types.ts";
import { firstChange, saving } from "../src/views/overview/words.ts";
import { ask } from "./support/cli.ts";
import { expect, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { columnOf, metricsOf, rowsOf } from "./support/read.ts";

for (const [name, trace] of Object.entries({ gpt: TRACES.gpt, fault: TRACES.fault, ddp: TRACES.ddp })) {
  test.describe(name, () => {
    test("the figures", async ({ page, open }) => {
      await open(trace, "overview");
      const { average, steps } = ask<StepsAnswer>("steps", trace);
      const [device] = ask<GpuAnswer>("gpu", trace).gpu;
      const { mean_mfu, lower_bound } = ask<Roofline>("roofline", trace);
      const share = (value: number | null | undefined) => (value == null ? "–" : percent(value));
      expect(steps.length).toBeGreaterThan(1);
      expect(await metricsOf(page)).toEqual({
        "Mean step": time(average?.wall_ns ?? 0),
        Utilization: share(device?.utilization),
        "SM efficiency": share(device?.sm_efficiency),
        Occupancy: share(device?.occupancy),
        "Tensor core share":
          (device?.tensor_core_unknown_share ?? 0) > 0
            ? atLeast(device?.tensor_core_share ?? 0)
            : share(device?.tensor_core_share),
        "Mean MFU": lower_bound ? atLeast(mean_mfu ?? 0) : share(mean_mfu),
      });
    });

    test("the steps, as a table", async ({ page, open }) => {
      await open(trace, "overview", { steps: "table" });
      const { steps } = ask<StepsAnswer>("steps", trace);
      const label = (step: StepsAnswer["steps"][number]) => `${step.step}${step.partial ? " left out" : ""}`;
      expect(await columnOf(page, "Steps", "Step")).toEqual(steps.map(label));
      expect(await columnOf(page, "Steps", "Wall")).toEqual(steps.map((step) => time(step.wall_ns)));
      expect(await columnOf(page, "Steps", "GPU busy")).toEqual(steps.map((step) => time(step.gpu_busy_ns)));
      for (const part of PARTS) {
        if (steps.every((step) => step[part.field] === 0)) continue;
        const shown = await columnOf(page, "Steps", plain(part.field));
        expect(shown).toEqual(steps.map((step) => time(step[part.field])));
      }
    });

    test("the account", async ({ page, open }) => {
      await open(trace, "overview");
      const { causes, verdict } = ask<Account>("account", trace);
      const first = causes[0]?.device;
      const rows = causes.filter((cause) => cause.device === first && cause.total_ns > 0);
      const want = rows.map((row) => [row.label, time(row.per_step_ns), percent(row.share)]);
      expect(await rowsOf(page, "Causes")).toEqual(want);
      await expect(page.locator(".verdict-text")).toHaveText(`${verdict?.text}.`);
      const found = ask<FindingsAnswer>("findings", trace);
      await expect(page.locator(".verdict-step")).toHaveText(`${found.step_text}.`);
    });

    test("the findings", async ({ page, open }) => {
      await open(trace, "overview");
      const answer = ask<FindingsAnswer>("findings", trace);
      const { findings } = answer;
      expect(findings.length).toBeGreaterThan(0);
      await expect(page.locator(".finding h3")).toHaveText(findings.map((finding) => finding.title));
      for (const [at, finding] of findings.entries()) {
        const shown = page.locator(".finding").nth(at);
        if (finding.code) await expect(shown.locator(".change")).toHaveText(firstChange(finding.code) ?? "");
        if (finding.saves_ns === null) continue;
        const { here, bare } = saving(finding, answer.step_measured);
        if (here ?? bare) await expect(shown.locator(".saves b")).toHaveText(here ?? bare ?? "");
      }
    });

    test("what the file holds", async ({ page, open }) => {
      await open(trace, "overview");
      const { info } = ask<InfoAnswer>("info", trace);
      const { events_in_file, slices, points, flows } = info.ledger;
      const said = page.locator(".run-info");
      await expect(said).toContainText(count(events_in_file));
      await expect(said).toContainText(
        `${count(slices)} slices + ${count(points)} points + ${count(flows)} arrow ends`,
      );
      await expect(said).toContainText("every event is accounted for");
    });
  });
}

test("a chosen step narrows the figures", async ({ page, open }) => {
  await open(TRACES.gpt, "overview", { step: 3 });
  const { average } = ask<StepsAnswer>("steps", TRACES.gpt, "--step", "3");
  const [device] = ask<GpuAnswer>("gpu", TRACES.gpt, "--step", "3").gpu;
  const shown = await metricsOf(page);
  expect(shown.Step).toBe(time(average?.wall_ns ?? 0));
  expect(shown.Utilization).toBe(percent(device?.utilization ?? 0));
});

for (const [name, trace] of Object.entries({ gpt: TRACES.gpt, streams: TRACES.streams })) {
  test(`what takes most of the time of ${name}`, async ({ page, open }) => {
    await open(trace, "overview");
    const { top } = ask<Summary>("summary", trace);
    const rows = await rowsOf(page, "Top");
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.map(([, ns, share]) => [ns, share])).toEqual(
      top.slice(0, 5).map((row) => [time(row.per_step_ns), percent(row.of_step)]),
    );
    const titles = page.locator("table[aria-label=Top] a");
    expect(await titles.evaluateAll((links) => links.map((a) => a.getAttribute("title")))).toEqual(
      top.slice(0, 5).map((row) => row.name),
    );
  });
}
