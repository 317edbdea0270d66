// Everything by keyboard: views, help, palette, tables, charts; the focus can be seen and is never caught.

import type { Page } from "@playwright/test";
import { expectAccessible } from "./support/axe.ts";
import { expect, idle, params, test } from "./support/fixtures.ts";
import { HOMES, KINDS } from "./support/kinds.ts";
import { TRACES, VIEWS } from "./support/paths.ts";
import { shown } from "./support/read.ts";

const viewOf = (page: Page) => new URL(page.url()).hash.replace(/^#\//, "").split("?")[0];

test("digits switch views", async ({ page, open }) => {
  await open(TRACES.gpt, "overview");
  const views = "overview timeline operators kernels flame memory modules diagnosis compare".split(" ");
  for (const [at, view] of views.entries()) {
    await page.keyboard.press(`Digit${at + 1}`);
    await idle(page);
    await expect.poll(() => viewOf(page)).toBe(view);
    await expect(page.locator(".nav [aria-current=page]")).toHaveAttribute("href", new RegExp(`#/${view}`));
    const name = await page
      .locator(".nav [aria-current=page]")
      .evaluate((link) => link.firstChild?.textContent);
    await expect(page.locator("h1")).toHaveText(name ?? "");
    await expect(page).toHaveTitle(new RegExp(`${name} · Stepscope$`));
  }
});

test("digits typed into a field stay there", async ({ page, open }) => {
  await open(TRACES.gpt, "operators");
  const field = page.getByRole("searchbox");
  await field.focus();
  await page.keyboard.type("123");
  await expect(field).toHaveValue("123");
  await expect.poll(() => viewOf(page)).toBe("operators");
});

test("? opens the help, Escape closes it", async ({ page, open }) => {
  await open(TRACES.gpt, "timeline");
  await page.keyboard.press("Shift+Slash");
  const help = page.getByRole("dialog", { name: "Help" });
  await expect(help).toBeVisible();
  for (const words of ["Go to Timeline", "Next training step", "matrix multiply", "Commands"])
    await expect(help).toContainText(words);
  await expectAccessible(page, "help");
  await page.keyboard.press("Digit3");
  expect(viewOf(page), "keys of the page below do nothing").toBe("timeline");
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
  await page.keyboard.press("Digit3");
  await expect.poll(() => viewOf(page)).toBe("operators");
});

test("Ctrl+K opens the palette", async ({ page, open }) => {
  await open(TRACES.gpt, "overview");
  await page.keyboard.press("Control+KeyK");
  const palette = page.getByRole("dialog", { name: "Commands" });
  const field = palette.getByRole("combobox");
  await expect(field).toBeFocused();
  await expectAccessible(page, "palette");
  await page.keyboard.type("flame");
  await expect(palette.getByRole("option").first()).toHaveAttribute("aria-selected", "true");
  await expect(palette.getByRole("option").first()).toContainText("Flame graph");
  await page.keyboard.press("Enter");
  await idle(page);
  await expect(palette).toBeHidden();
  await expect.poll(() => viewOf(page)).toBe("flame");
  await page.keyboard.press("Control+Shift+KeyP");
  await expect(field).toBeFocused();
  await page.keyboard.type("no such command");
  await expect(palette).toContainText("No commands match");
  await page.keyboard.press("Escape");
  await expect(page.locator(".palette")).toHaveCount(0);
  await page.keyboard.press("Control+KeyK");
  await page.keyboard.press("ArrowDown");
  await expect(palette.getByRole("option").nth(1)).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await expect(palette.getByRole("option").first()).toHaveAttribute("aria-selected", "true");
});

test("a table by arrows and Enter", async ({ page, open }) => {
  await open(TRACES.gpt, "operators");
  const row = (index: number) => page.locator(`table[aria-label=Operators] tr[data-index="${index}"]`);
  await tabTo(page, "table[aria-label=Operators] tr");
  await expect(row(0)).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(row(2)).toBeFocused();
  await page.keyboard.press("Enter");
  await idle(page);
  expect(params(page).open).toBe("2");
  await expect(page.locator("table[aria-label=Operators] tr.detail")).toBeVisible();
  await expectAccessible(page, "an opened row");
  await page.keyboard.press("Enter");
  await expect.poll(() => params(page).open).toBeUndefined();
  await page.keyboard.press("End");
  const last = await page.locator("table[aria-label=Operators]").getAttribute("aria-rowcount");
  await expect(row(Number(last) - 2)).toBeFocused();
  await expect(row(Number(last) - 2)).toBeInViewport();
  await page.keyboard.press("PageUp");
  await page.keyboard.press("Home");
  await expect(row(0)).toBeFocused();
});

test("heads of a table sort by Enter", async ({ page, open }) => {
  await open(TRACES.gpt, "kernels");
  await page.getByRole("button", { name: "Calls", exact: true }).focus();
  await page.keyboard.press("Enter");
  await idle(page);
  expect(params(page).sort).toBe("calls");
  await expect(page.locator("th[aria-sort]")).toContainText("Calls");
});

test("the steps of the overview by arrows", async ({ page, open }) => {
  await open(TRACES.gpt, "overview");
  await tabTo(page, "[data-bar]");
  await page.keyboard.press("ArrowRight");
  await expect(page.locator('[data-bar="1"]')).toBeFocused();
  await page.keyboard.press("Enter");
  await idle(page);
  expect(params(page).step).toBe("3");
  await expect(page.locator(".chip")).toContainText("step 3");
});

test("the tree of modules by arrows", async ({ page, open }) => {
  await open(TRACES.stacks, "modules");
  await tabTo(page, "table[aria-label=Modules] tr");
  const rows = page.locator("table[aria-label=Modules] tbody tr[data-index]");
  const all = await rows.count();
  await page.keyboard.press("ArrowLeft");
  await expect(rows.first()).toHaveAttribute("aria-expanded", "false");
  expect(await rows.count()).toBeLessThan(all);
  await page.keyboard.press("ArrowRight");
  await expect(rows).toHaveCount(all);
  await page.keyboard.press("ArrowRight");
  await expect(rows.nth(1)).toBeFocused();
});

test("the flame graph by arrows, Enter and Escape", async ({ page, open }) => {
  await open(TRACES.stacks, "flame");
  await tabTo(page, ".flame-graph");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const name = page.locator(".flame-selected-name");
  const chosen = await shown(name);
  expect(chosen).not.toBe("All");
  await page.keyboard.press("Enter");
  await idle(page);
  expect(Number(params(page).zoom)).toBeGreaterThan(0);
  await expect(page.locator(".flame-here")).toHaveText(chosen.trim());
  await page.keyboard.press("Escape");
  await idle(page);
  expect(params(page).zoom).toBeUndefined();
  await page.keyboard.press("Slash");
  await expect(page.getByRole("searchbox", { name: "Search names" })).toBeFocused();
});

test("a stretch of memory by Shift and arrows", async ({ page, open }) => {
  await open(TRACES.gpt, "memory");
  const chart = page.getByRole("slider", { name: /over the whole run/ });
  await chart.focus();
  await page.keyboard.press("PageUp");
  await page.keyboard.down("Shift");
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  await page.keyboard.up("Shift");
  await idle(page);
  expect(Number(params(page).to)).toBeGreaterThan(Number(params(page).from));
  await page.keyboard.press("Escape");
  await idle(page);
  expect(params(page).from).toBeUndefined();
});

test("the tabs of the diagnosis by arrows", async ({ page, open }) => {
  await open(TRACES.gpt, "diagnosis");
  await page.locator("[role=tab][aria-selected=true]").focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#tab-idle")).toBeFocused();
  await expect.poll(() => params(page).tab).toBe("idle");
  await page.keyboard.press("End");
  await expect(page.locator("#tab-path")).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#tab-what-if")).toBeFocused();
});

test("lanes of the timeline by arrows", async ({ page, open }) => {
  await open(TRACES.gpt, "timeline");
  await tabTo(page, "[role=treeitem]");
  const focused = page.locator("[role=treeitem]:focus");
  const first = await focused.getAttribute("aria-label");
  await page.keyboard.press("ArrowDown");
  await expect(focused).not.toHaveAttribute("aria-label", first ?? "");
  while ((await focused.getAttribute("aria-expanded")) === null) {
    const before = await focused.getAttribute("aria-label");
    await page.keyboard.press("ArrowDown");
    await expect(focused).not.toHaveAttribute("aria-label", before ?? "");
  }
  await page.keyboard.press("ArrowLeft");
  await expect(focused).toHaveAttribute("aria-expanded", "false");
  await expect.poll(() => params(page).collapsed).toBeTruthy();
  await page.keyboard.press("ArrowRight");
  await expect(focused).toHaveAttribute("aria-expanded", "true");
});

for (const view of VIEWS) {
  test(`Tab goes through all of ${view}, seen everywhere, and comes out again`, async ({
    page,
    open,
    serve,
  }) => {
    const home = HOMES[view as keyof typeof HOMES] ?? "training in bf16";
    await open(await serve(...KINDS[home].paths), view);
    const stops = await tabThrough(page);
    expect(stops.length).toBeGreaterThan(10);
    expect(stops.filter((stop) => !stop.visible).map((stop) => stop.what)).toEqual([]);
    // A chart, a table or a tree is one stop: arrows move inside.
    for (const kind of ["step-bar", "tl-lane", "TR."]) {
      const here = stops.filter((stop) => stop.what.includes(kind)).length;
      expect(here, kind).toBeLessThanOrEqual(kind === "TR." ? await page.locator("main table").count() : 1);
    }
  });
}

const MAX_STOPS = 400;

interface Stop {
  what: string;
  visible: boolean;
}

/** Presses Tab until the focus is back at the beginning. */
async function tabThrough(page: Page): Promise<Stop[]> {
  const stops: Stop[] = [];
  await page.keyboard.press("Tab");
  await expect(page.locator(".skip")).toBeFocused();
  for (let i = 0; i < MAX_STOPS; i++) {
    const stop = await page.evaluate(() => {
      const at = document.activeElement;
      if (!(at instanceof HTMLElement || at instanceof SVGElement) || at === document.body) return undefined;
      const style = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      const marked = (element: Element) => {
        const { stroke, strokeWidth } = getComputedStyle(element);
        return stroke !== "none" && Number.parseFloat(strokeWidth) >= 2;
      };
      const outlined =
        (style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) >= 1) ||
        (at instanceof SVGElement && [...at.children].some(marked));
      const inSight = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
      const name = at.getAttribute("aria-label") ?? at.textContent?.trim().slice(0, 40);
      const kind = at.getAttribute("class") ?? "";
      return {
        what: `${at.tagName}.${kind} ${name}${outlined ? "" : " (no outline)"}${inSight ? "" : " (out of sight)"}`,
        visible: (outlined || style.boxShadow !== "none") && inSight,
      };
    });
    if (!stop || (stops.length > 0 && stop.what === stops[0]?.what)) return stops;
    stops.push(stop);
    await page.keyboard.press("Tab");
  }
  throw new Error(
    `the focus does not come out after ${MAX_STOPS} stops: ${stops.slice(-5).map((s) => s.what)}`,
  );
}

/** Presses Tab until something like this has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let i = 0; i < MAX_STOPS; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return;
  }
  throw new Error(`Tab does not lead to ${selector}`);
}
