// The address is the state: what one page shows, another opened at its address shows too.

import type { BrowserContext, Page } from "@playwright/test";
import type { Hits, Layout } from "../src/data/types.ts";
import { expect, idle, params, settled, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { shown } from "./support/read.ts";
import { placeOf, stats } from "./support/timeline.ts";

/** All that can be read in the view and above it. */
async function read(page: Page): Promise<{ title: string; top: string; text: string }> {
  await page.mouse.move(0, 0);
  await idle(page);
  await page.evaluate(() => {
    // What was announced on the way here is no state.
    for (const said of document.querySelectorAll<HTMLElement>(".sr-only[aria-live]")) said.hidden = true;
  });
  return {
    title: await page.title(),
    top: await shown(page.locator(".top")),
    text: await shown(page.locator("main")),
  };
}

/** Opens the page's address in another page and expects to read the same there. */
async function sameElsewhere(page: Page, context: BrowserContext): Promise<Page> {
  const here = await read(page);
  const other = await context.newPage();
  await other.goto(page.url());
  await settled(other);
  expect(await read(other)).toEqual(here);
  expect(other.url()).toBe(page.url());
  return other;
}

test("overview: step, table, parts, findings", async ({ page, context, open }) => {
  await open(TRACES.gpt, "overview");
  await page.locator('[data-bar="1"]').click();
  await idle(page);
  await page.locator(".finding h3 button").last().click();
  await page.locator(".legend-buttons button").first().click();
  await idle(page);
  const { step, hide, finding } = params(page);
  expect([step, hide, finding].every(Boolean)).toBe(true);
  const other = await sameElsewhere(page, context);
  await expect(other.locator('[data-bar="1"]')).toHaveAttribute("aria-pressed", "true");
  await expect(other.locator(".finding h3 button").last()).toHaveAttribute("aria-expanded", "true");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await expect.poll(() => params(page).steps).toBe("table");
  await sameElsewhere(page, context);
});

test("operators: part, group, sort, filter, columns, opened row", async ({ page, context, open }) => {
  await open(TRACES.gpt, "operators");
  await page.getByRole("combobox").selectOption("shape");
  await page.getByRole("button", { name: "Calls", exact: true }).click();
  await page.getByRole("searchbox").fill("aten::.*mm");
  await page.getByRole("searchbox").press("Enter");
  await idle(page);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "FLOPs" }).check();
  await page.keyboard.press("Escape");
  await idle(page);
  await page.locator('tr[data-index="2"]').click();
  await idle(page);
  expect(params(page)).toMatchObject({ by: "shape", sort: "calls", filter: "aten::.*mm", open: "2" });
  expect(params(page).cols).toContain("flops");
  const other = await sameElsewhere(page, context);
  await expect(other.locator("th[aria-sort]")).toContainText("Calls");
  await expect(other.locator("tr.detail")).toBeVisible();
  await page.getByRole("button", { name: "Annotations" }).click();
  await idle(page);
  expect(params(page).part).toBe("annotations");
  await sameElsewhere(page, context);
});

test("kernels: group, sort, filter", async ({ page, context, open }) => {
  await open(TRACES.gpt, "kernels");
  await page.getByRole("button", { name: "By operator" }).click();
  await idle(page);
  await page.getByRole("button", { name: "Mean", exact: true }).click();
  await page.getByRole("searchbox").fill("elementwise");
  await page.getByRole("searchbox").press("Enter");
  await idle(page);
  expect(params(page)).toMatchObject({ by: "op", sort: "mean_ns", filter: "elementwise" });
  await sameElsewhere(page, context);
});

test("timeline: window, selection, search, pins, folds, marks", async ({ page, context, open, serve }) => {
  const server = await serve(TRACES.gpt);
  const { hits } = await server.json<Hits>("api/r/0/search?q=nvjet&order=dur&limit=1");
  await open(TRACES.gpt, "timeline");
  await page.keyboard.press("n");
  await idle(page);
  await page.locator("[role=treeitem] button.tl-pin").first().click();
  await page.locator("[role=treeitem][aria-expanded=true]").last().click();
  await page.getByRole("searchbox").fill("nvjet");
  await idle(page);
  await page.getByRole("searchbox").press("Enter");
  await idle(page);
  await page.getByRole("searchbox").blur();
  await page.keyboard.press("Shift+KeyM");
  for (const key of ["from", "to", "sel", "q", "pins", "collapsed", "mark"])
    await expect.poll(() => params(page)[key], key).toBeTruthy();
  expect(hits.length).toBe(1);
  const here = await stats(page);
  const there = await openSame(page, context);
  const drawn = await stats(there);
  expect([drawn.rows, drawn.quads, drawn.shown]).toEqual([here.rows, here.quads, here.shown]);
  expect(await shown(there.locator(".tl-pane"))).toBe(await shown(page.locator(".tl-pane")));
  await expect(there.getByRole("searchbox")).toHaveValue("nvjet");
  expect(await pictureOf(there)).toBe(await pictureOf(page));
});

test("timeline: area and critical path", async ({ page, context, open, serve }) => {
  const layout = await (await serve(TRACES.gpt)).json<Layout>("api/r/0/timeline");
  await open(TRACES.gpt, "timeline");
  await page.keyboard.press("KeyC");
  await idle(page);
  const row = layout.groups.find((group) => group.kind === "device")?.rows[0] ?? 0;
  const [from, to] = [
    await placeOf(page, layout, row, layout.extent_ns / 3),
    await placeOf(page, layout, row, layout.extent_ns / 2),
  ];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y + 60, { steps: 3 });
  await page.mouse.up();
  await idle(page);
  for (const key of ["area", "path"]) await expect.poll(() => params(page)[key]).toBeTruthy();
  const there = await openSame(page, context);
  expect(await shown(there.locator(".tl-pane"))).toBe(await shown(page.locator(".tl-pane")));
  expect((await stats(there)).quads).toBe((await stats(page)).quads);
});

test("flame: weight, zoom, search, order, direction", async ({ page, context, open }) => {
  await open(TRACES.stacks, "flame");
  await page.getByRole("button", { name: "Device time" }).click();
  await idle(page);
  await page.getByRole("button", { name: "By name" }).click();
  await page.getByRole("button", { name: "Flame", exact: true }).click();
  await page.getByRole("searchbox").fill("linear");
  await page.getByRole("searchbox").press("Enter");
  await idle(page);
  await page.getByRole("button", { name: "Zoom", exact: true }).click();
  await idle(page);
  expect(params(page)).toMatchObject({ weight: "device", order: "name", orient: "flame", q: "linear" });
  expect(Number(params(page).zoom)).toBeGreaterThan(0);
  await sameElsewhere(page, context);
  await page.getByRole("button", { name: "Callers and callees" }).last().click();
  await idle(page);
  expect(params(page)).toMatchObject({ show: "sandwich" });
  await sameElsewhere(page, context);
});

test("memory: stretch, table, scale", async ({ page, context, open }) => {
  await open(TRACES.gpt, "memory");
  const box = await page.locator(".mem-chart").first().boundingBox();
  if (!box) throw new Error("no chart");
  await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await idle(page);
  await page.getByRole("button", { name: "All allocations" }).click();
  await page.getByRole("checkbox", { name: /scale to device memory/ }).check();
  await idle(page);
  const { from, to, by, scale } = params(page);
  expect(Number(to)).toBeGreaterThan(Number(from));
  expect([by, scale]).toEqual(["event", "device"]);
  await sameElsewhere(page, context);
});

test("modules: class, search, sort, opened rows", async ({ page, context, open }) => {
  await open(TRACES.stacks, "modules");
  await page.locator("table[aria-label=Modules] .disclose").nth(1).click();
  await page.getByRole("button", { name: "Host self" }).click();
  await idle(page);
  expect(params(page)).toMatchObject({ sort: "host_self_ns" });
  expect(params(page).t).toBeTruthy();
  await sameElsewhere(page, context);
  await page.getByRole("button", { name: "By class" }).click();
  await page.getByRole("searchbox").fill("l");
  await idle(page);
  expect(params(page)).toMatchObject({ by: "class", q: "l" });
  await sameElsewhere(page, context);
});

test("diagnosis: tab, step, changes", async ({ page, context, open }) => {
  await open(TRACES.gpt, "diagnosis");
  await page.getByRole("checkbox", { name: "No synchronization" }).check();
  const slider = page.locator("label.what-if-slider input").first();
  await slider.focus();
  await slider.press("ArrowRight");
  await idle(page);
  expect(params(page).change).toBe("no-sync");
  expect(params(page).faster).toMatch(/^op:1.25:/);
  await sameElsewhere(page, context);
  await page.getByRole("tab", { name: "Idle" }).click();
  await page.getByRole("combobox", { name: "Step" }).selectOption("3");
  await idle(page);
  expect(params(page)).toMatchObject({ tab: "idle", step: "3" });
  await sameElsewhere(page, context);
});

test("compare: which runs", async ({ page, context, serve }) => {
  const server = await serve(TRACES.ddp, TRACES.ddpOther);
  await page.goto(`${server.url}#/compare`);
  await settled(page);
  await page.getByRole("button", { name: "Swap" }).click();
  await idle(page);
  expect(params(page)).toMatchObject({ a: "1", b: "0" });
  await sameElsewhere(page, context);
});

test("back undoes what was chosen, view by view", async ({ page, open }) => {
  await open(TRACES.gpt, "overview");
  await page.locator('[data-bar="0"]').click();
  await idle(page);
  await page.keyboard.press("Digit3");
  await idle(page);
  expect(params(page).step, "the step stays").toBe("2");
  await page.goBack();
  await idle(page);
  await expect(page.locator("h1")).toHaveText("Overview");
  await page.goBack();
  await idle(page);
  expect(params(page).step).toBeUndefined();
});

test("an address that makes no sense does no harm", async ({ page, open, complaints }) => {
  complaints.expect(/400|404/);
  const server = await open(TRACES.gpt, "timeline", {
    from: "x",
    to: -5,
    sel: 99_999_999,
    area: "1-2",
    mark: "~",
    pins: "%",
  });
  await expect(page.locator(".tl-tracks canvas").first()).toBeVisible();
  await open(server, "operators", { by: "nonsense", open: 99_999, cols: "a,b" });
  await expect(page.locator("table tbody tr").first()).toBeVisible();
  await open(server, "operators", { filter: "(", sort: "nonsense" });
  await expect(page.locator(".trouble")).toBeVisible();
  await open(server, "flame", { zoom: 1e9, weight: "x" });
  await expect(page.locator(".flame-graph")).toBeVisible();
  await open(server, "diagnosis", { tab: "nonsense", faster: "op:x:y|z" });
  await expect(page.locator("[role=tabpanel] .card").first()).toBeVisible();
  await page.goto(`${server.url}#/nowhere`);
  await expect(page.locator("main")).toContainText("No such view");
});

/** As `sameElsewhere`, for a view whose picture says more than its words. */
async function openSame(page: Page, context: BrowserContext): Promise<Page> {
  const other = await context.newPage();
  await other.goto(page.url());
  await settled(other);
  await expect.poll(() => params(other)).toEqual(params(page));
  return other;
}

/** The layer of names, selection, arrows and marks, as a number. */
async function pictureOf(page: Page): Promise<string> {
  await page.mouse.move(0, 0);
  await idle(page);
  return page.evaluate(
    () => document.querySelectorAll<HTMLCanvasElement>(".tl-tracks canvas")[1]?.toDataURL() ?? "",
  );
}
