// Every view of every kind of trace: it shows what such a trace has, or says that it has none; complains about nothing; and
// is accessible in both themes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectAccessible } from "./support/axe.ts";
import { address, expect, test, turnTo, visit } from "./support/fixtures.ts";
import { CONTENT, ELSEWHERE, HOMES, has, KINDS, type Kind, LACKING, type LackedId } from "./support/kinds.ts";
import { NIGHTLY, TABS, TRACES, VIEWS, type ViewId } from "./support/paths.ts";
import { shown } from "./support/read.ts";

const soft = expect.configure({ soft: true });

for (const [name, kind] of Object.entries<Kind>(KINDS)) {
  test(`every view of a trace ${name}`, async ({ page, serve }) => {
    await visit(page, (await serve(...kind.paths)).url);
    for (const view of VIEWS)
      await test.step(view, async () => {
        await turnTo(page, address(view));
        await expectShown(page, view, kind);
      });
  });

  test(`every view of a trace ${name} is accessible`, async ({ page, serve }) => {
    test.skip(!NIGHTLY, "every view of every trace with axe: only with STEPSCOPE_NIGHTLY=1");
    test.setTimeout(600_000);
    await visit(page, (await serve(...kind.paths)).url);
    for (const view of VIEWS)
      await test.step(view, async () => {
        await turnTo(page, address(view));
        await expectShown(page, view, kind);
        await expectAccessible(page, `${view} of a trace ${name}`);
      });
  });
}

for (const [view, name] of Object.entries(HOMES) as [keyof typeof HOMES, keyof typeof KINDS][]) {
  // The tabs of the diagnosis are looked at one by one below.
  if (view === "diagnosis" || view in ELSEWHERE) continue;
  test(`${view}, with content, is accessible`, async ({ page, open, serve }) => {
    const kind: Kind = KINDS[name];
    expect(has(kind, view), `a trace ${name} has ${view}`).toBe(true);
    await open(await serve(...kind.paths), view);
    await expectShown(page, view, kind);
    await expectAccessible(page, view);
  });
}

for (const [view, [file, what]] of Object.entries(ELSEWHERE))
  test(`${view}, with content, is accessible: in ${file}`, () => {
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    expect(text).toContain(`expectAccessible(page, "${what}")`);
  });

/** The tabs that a trace with this fault has no rows for. */
const EMPTY_TABS: Partial<Record<(typeof TABS)[number], string>> = {
  loading: "No data loading in these steps.",
};

for (const tab of TABS) {
  test(`diagnosis: ${tab}`, async ({ page, open }) => {
    await open(TRACES.fault, "diagnosis", { tab });
    await expect(page.locator(`#tab-${tab}`)).toHaveAttribute("aria-selected", "true");
    const panel = page.locator("main [role=tabpanel]");
    const empty = EMPTY_TABS[tab];
    if (empty) await expect(panel.locator(".empty-title")).toHaveText(empty);
    else await expect(panel.locator(".card").first()).toBeVisible();
    await expectSound(page, tab);
    await expectAccessible(page, tab);
  });
}

/** What such a trace has for the view, or why it has none. Softly: the other views are looked at, too. */
async function expectShown(page: Page, view: ViewId, kind: Kind): Promise<void> {
  const content = page.locator("main").locator(CONTENT[view]);
  if (has(kind, view)) await soft(content.first(), view).toBeVisible();
  else {
    await soft(page.locator("main .empty-title").first(), view).toHaveText(LACKING[view as LackedId]);
    await soft(content, view).toHaveCount(0);
  }
  await expectSound(page, view);
}

async function expectSound(page: Page, what: string): Promise<void> {
  await soft(page.locator(".trouble"), what).toHaveCount(0);
  await soft(page.locator(".skeleton"), what).toHaveCount(0);
  const words = await shown(page.locator("main"));
  soft(words, `${what}: no number that is none`).not.toMatch(/\bNaN\b|undefined|Infinity|\[object/);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  soft(over, `${what}: not wider than the window`).toBeLessThanOrEqual(0);
}
