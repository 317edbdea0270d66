// Every view of every kind of trace: it shows something, complains about nothing, and is accessible in both themes.

import type { Page } from "@playwright/test";
import { expectAccessible } from "./support/axe.ts";
import { expect, test } from "./support/fixtures.ts";
import { TABS, TRACES, VIEWS, type ViewId } from "./support/paths.ts";
import { shown } from "./support/read.ts";

const KINDS = {
  "training in bf16": TRACES.gpt,
  "with stacks and modules": TRACES.overloads,
  "with NCCL": TRACES.nccl,
  "with a fault": TRACES.fault,
};

/** What a view shows when it shows something. */
const CONTENT: Record<ViewId, string> = {
  overview: ".verdict-text",
  timeline: ".tl-tracks canvas",
  operators: "table[aria-label=Operators] tbody tr",
  kernels: "table tbody tr",
  flame: ".flame-graph canvas",
  memory: ".mem-chart, .empty",
  modules: "table[aria-label=Modules] tbody tr, .empty",
  diagnosis: "[role=tabpanel] :is(.card, .empty)",
  compare: ".card",
  functions: "table[aria-label=Functions] tbody tr, .empty",
  lines: "table[aria-label=Lines] tbody tr, .empty",
  code: "table[aria-label=Code] tbody tr, .empty",
  hlo: "table[aria-label='By instruction'] tbody tr, .empty",
  threads: "table tbody tr, .empty",
  regions: "table tbody tr, .empty",
  phases: "table tbody tr, .empty",
  collectives: "table tbody tr, .empty",
  serving: "table tbody tr, .empty",
  graphs: "table tbody tr, .empty",
  compile: "table tbody tr, .empty",
  history: ".empty",
  service: ".empty",
  source: "table[aria-label=Source] tbody tr, .empty",
};

for (const [kind, trace] of Object.entries(KINDS)) {
  for (const view of VIEWS) {
    test(`${view} of a trace ${kind}`, async ({ page, open }) => {
      await open(trace, view);
      await expectContent(page, view);
      await expectAccessible(page, view);
    });
  }
}

test("modules and memory are there where they were recorded", async ({ page, open }) => {
  await open(TRACES.overloads, "modules");
  await expect(page.locator("table[aria-label=Modules] tbody tr").first()).toBeVisible();
  await open(TRACES.gpt, "memory");
  await expect(page.locator(".mem-chart").first()).toBeVisible();
});

for (const tab of TABS) {
  test(`diagnosis: ${tab}`, async ({ page, open }) => {
    await open(TRACES.fault, "diagnosis", { tab });
    await expectContent(page, "diagnosis");
    await expect(page.locator(`#tab-${tab}`)).toHaveAttribute("aria-selected", "true");
    await expectAccessible(page, tab);
  });
}

async function expectContent(page: Page, view: ViewId): Promise<void> {
  await expect(page.locator(`main ${CONTENT[view]}`).first()).toBeVisible();
  await expect(page.locator(".trouble")).toHaveCount(0);
  await expect(page.locator(".skeleton")).toHaveCount(0);
  const words = await shown(page.locator("main"));
  expect(words, "no number that is none").not.toMatch(/\bNaN\b|undefined|Infinity|\[object/);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
}
