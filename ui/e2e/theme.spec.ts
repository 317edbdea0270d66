// Light and dark: the system's choice unless the user made one, and that one stays.

import type { Page } from "@playwright/test";
import { expect, idle, settled, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";

const theme = (page: Page) => page.evaluate(() => document.documentElement.dataset.theme);
const ground = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("the themes differ, and a choice outlives the page", async ({ page, open }) => {
  await open(TRACES.gpt, "overview");
  expect(await theme(page)).toBe("light");
  const light = await ground(page);
  await page.getByRole("button", { name: "Switch to dark theme" }).click();
  expect(await theme(page)).toBe("dark");
  expect(await ground(page)).not.toBe(light);
  await page.reload();
  await settled(page);
  expect(await theme(page)).toBe("dark");
  await page.getByRole("button", { name: "Switch to light theme" }).click();
  await page.reload();
  await settled(page);
  expect(await theme(page)).toBe("light");
  expect(await ground(page)).toBe(light);
});

test("drawings follow the theme at once", async ({ page, open }) => {
  for (const view of ["timeline", "flame"] as const) {
    await open(TRACES.gpt, view);
    const drawing = page.locator(view === "timeline" ? ".tl-tracks" : ".flame-graph");
    const before = await drawing.screenshot();
    await page.locator('button[aria-label^="Switch to "]').click();
    await page.mouse.move(0, 0);
    await idle(page);
    expect(before.equals(await drawing.screenshot())).toBe(false);
  }
});

test.describe("on a dark system", () => {
  test.use({ colorScheme: "dark" });
  test("the page is dark from the start", async ({ page, open }) => {
    await open(TRACES.gpt, "overview");
    expect(await theme(page)).toBe("dark");
  });
});

test("the system's choice is followed while the page is open", async ({ page, open }) => {
  await open(TRACES.gpt, "overview");
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(() => theme(page)).toBe("dark");
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(() => theme(page)).toBe("light");
});
