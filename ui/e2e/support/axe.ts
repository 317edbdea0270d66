// axe-core in the page: no violation is accepted.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import type Axe from "axe-core";
import { expect, idle } from "./fixtures.ts";
import { NIGHTLY } from "./paths.ts";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The rules that look at colors. */
const OF_COLORS = ["color-contrast", "link-in-text-block"];

/** Every violation as a line: rule, how many, the first places. */
async function violations(page: Page, only?: readonly string[]): Promise<string[]> {
  // The page's policy forbids script elements: the source is evaluated by the debugger instead.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(SOURCE);
  const found = await page.evaluate(async (only) => {
    const { axe } = window as unknown as { axe: typeof Axe };
    const rules = only && { runOnly: { type: "rule" as const, values: [...only] } };
    return (await axe.run({ resultTypes: ["violations"], ...rules })).violations;
  }, only);
  return found.map(({ id, help, nodes }) => {
    const places = nodes.slice(0, 4).map((node) => `${node.target.join(" ")}: ${node.failureSummary}`);
    return `${id} (${nodes.length}): ${help}\n  ${places.join("\n  ")}`;
  });
}

/** No violations in the theme shown and in the other one. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  // What is still awaited is shown pale.
  await idle(page);
  for (let theme = 0; theme < 2; theme++) {
    const shown = await page.evaluate(() => document.documentElement.dataset.theme);
    // The other theme is the same page in other colors; every night it is looked at in full.
    const only = theme === 0 || NIGHTLY ? undefined : OF_COLORS;
    expect(await violations(page, only), `${what}, ${shown} theme`).toEqual([]);
    await page.evaluate(() => {
      // As the button does, without moving the focus or closing what is open.
      const button = document.querySelector<HTMLElement>('button[aria-label^="Switch to "]');
      if (!button) throw new Error("no button switches the theme");
      button.click();
    });
    await idle(page);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).not.toBe(shown);
  }
}
