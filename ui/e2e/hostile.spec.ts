// Names from traces are hostile: they are shown as they are, do nothing, and burst nothing.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import type { Hits } from "../src/data/types.ts";
import { expectAccessible } from "./support/axe.ts";
import { run } from "./support/cli.ts";
import { address, expect, idle, test, turnTo, visit } from "./support/fixtures.ts";
import { HOSTILE, hostileTrace } from "./support/hostile.ts";
import { TABS, VIEWS } from "./support/paths.ts";

/** As far as a file system goes: it has no slash. */
const FILE = `"><img src=x onerror=window.pwned=1>\u202Egnp🔥 ${"x".repeat(120)}.pt.trace.json`;

function write(folder: string): string {
  const inside = join(folder, "<b>runs &amp; more");
  mkdirSync(inside);
  const path = join(inside, FILE);
  writeFileSync(path, JSON.stringify(hostileTrace()));
  return path;
}

async function expectUnharmed(page: Page, what: string): Promise<void> {
  expect(await page.evaluate(() => "pwned" in window), `${what}: a name ran`).toBe(false);
  const foreign = page.locator('img, iframe, object, embed, script:not([src]):not([type]):not([id^="pack:"])');
  await expect(foreign, what).toHaveCount(0);
  const wide = await page.evaluate(() => {
    const boxes = [document.documentElement, document.body, ...document.querySelectorAll("main, header, nav")];
    return boxes
      .filter((box) => box.scrollWidth > box.clientWidth + 1)
      .map((box) => `${box.tagName} ${box.scrollWidth}`);
  });
  expect(wide, `${what}: wider than the window`).toEqual([]);
}

const PLACES = [
  ...VIEWS.filter((view) => view !== "diagnosis").map((view) => address(view)),
  ...TABS.map((tab) => address("diagnosis", { tab })),
  address("operators", { by: "stack", open: 0 }),
  address("kernels", { by: "launch", open: 0 }),
  address("flame", { weight: "device", show: "sandwich" }),
  address("modules", { by: "class" }),
  address("memory", { by: "event" }),
];

test("every view is unharmed by hostile names", async ({ page, start, folder }) => {
  const server = await start([write(folder)]);
  await visit(page, server.url);
  for (const place of PLACES) {
    await turnTo(page, place);
    await expect(page.locator(".trouble"), place).toHaveCount(0);
    await expectUnharmed(page, place);
  }
});

test("hostile names are shown as they are", async ({ page, start, folder }) => {
  const server = await start([write(folder)]);
  await visit(page, server.url + address("operators", { sort: "name" }));
  const titles = await page
    .locator(".mono-name")
    .evaluateAll((all) => all.map((name) => name.getAttribute("title")));
  for (const name of Object.values(HOSTILE)) if (name) expect(titles).toContain(name);
  await expect(page.locator(".run-name").first()).toContainText("<img src=x onerror=window.pwned=1>");
  await expectAccessible(page, "operators with hostile names");
});

test("hostile names can be searched, chosen and read on the timeline", async ({ page, start, folder }) => {
  const server = await start([write(folder)]);
  await visit(page, server.url);
  for (const name of Object.values(HOSTILE)) {
    if (name === "") continue;
    const asked = `api/r/0/search?exact=1&limit=1&q=${encodeURIComponent(name)}`;
    const { total, hits } = await server.json<Hits>(asked);
    // An operator and a kernel in each of two steps.
    expect(total, name.slice(0, 40)).toBe(4);
    await turnTo(page, address("timeline", { sel: hits[0]?.id ?? 0, name }));
    await expect(page.locator(".tl-pane h2")).toHaveAttribute("title", name.slice(0, 5000));
    await expectUnharmed(page, name.slice(0, 40));
  }
  const box = await page.locator(".tl-tracks").boundingBox();
  if (!box) throw new Error("no tracks");
  for (let y = 40; y < box.height; y += 32) await page.mouse.move(box.x + box.width / 2, box.y + y);
  await idle(page);
  await expectUnharmed(page, "tips");
});

test("the report of it is unharmed as well", async ({ page, folder }) => {
  const file = join(folder, "report.html");
  const { status, stderr } = run("export", "--to", "html", "-o", file, write(folder));
  expect(status, stderr).toBe(0);
  await visit(page, `file://${encodeURI(file)}`);
  for (const place of PLACES) {
    await turnTo(page, place);
    await expectUnharmed(page, place);
  }
});
