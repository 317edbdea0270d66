// Moving over the timeline: keys, wheel, steps, lanes. Something is drawn all the time.

import type { Page } from "@playwright/test";
import type { Details, Hits, Layout } from "../src/data/types.ts";
import { expect, idle, params, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { hold, stats, windowIn } from "./support/timeline.ts";

/** How long the window in the address is, once it is there and differs from `old`. */
async function changedLength(page: Page, layout: Layout, old: number): Promise<number> {
  const length = () => windowIn(page, layout).to - windowIn(page, layout).from;
  await expect.poll(length).not.toBe(old);
  return length();
}

test("W zooms in, S zooms out, and something is drawn all the way", async ({ page, open, serve }) => {
  const layout = await (await serve(TRACES.gpt)).json<Layout>("api/r/0/timeline");
  const middle = Math.round(layout.extent_ns / 2);
  await open(TRACES.gpt, "timeline", { from: middle - 10_000_000, to: middle + 10_000_000 });
  let length = 20_000_000;
  for (let round = 0; round < 4; round++) {
    await hold(page, "KeyW", 12);
    const now = await stats(page);
    expect(now.quads).toBeGreaterThan(0);
    expect(now.shown + now.counted).toBeGreaterThan(0);
    expect(now.drawCalls).toBeLessThanOrEqual(6);
    const next = await changedLength(page, layout, length);
    expect(next).toBeLessThan(length);
    length = next;
  }
  await hold(page, "KeyS", 12);
  expect(await changedLength(page, layout, length)).toBeGreaterThan(length);
});

test("A and D move, 0 shows everything", async ({ page, open, serve }) => {
  const layout = await (await serve(TRACES.gpt)).json<Layout>("api/r/0/timeline");
  const middle = Math.round(layout.extent_ns / 2);
  await open(TRACES.gpt, "timeline", { from: middle, to: middle + 5_000_000 });
  await hold(page, "KeyD", 8);
  await expect.poll(() => Number(params(page).from)).toBeGreaterThan(middle);
  const right = Number(params(page).from);
  await hold(page, "KeyA", 8);
  await expect.poll(() => Number(params(page).from)).toBeLessThan(right);
  await page.keyboard.press("Digit0");
  await idle(page);
  await expect.poll(() => Number(params(page).from)).toBeLessThan(0);
  await expect.poll(() => Number(params(page).to)).toBeGreaterThan(layout.extent_ns);
});

test("the wheel zooms with Ctrl and scrolls without", async ({ page, open, serve }) => {
  const layout = await (await serve(TRACES.gpt)).json<Layout>("api/r/0/timeline");
  await open(TRACES.gpt, "timeline");
  const box = await page.locator(".tl-tracks").boundingBox();
  if (!box) throw new Error("no tracks");
  await page.mouse.move(box.x + box.width / 4, box.y + 300);
  const first = windowIn(page, layout);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await idle(page);
  await expect.poll(() => params(page).from).toBeDefined();
  const { from, to } = windowIn(page, layout);
  const whole = first.to - first.from;
  expect(to - from).toBeLessThan(whole);
  // What was under the pointer still is.
  expect(Math.abs(from + (to - from) / 4 - (first.from + whole / 4))).toBeLessThan(whole / 500);
  const before = (await stats(page)).rows;
  await page.mouse.wheel(0, 300);
  await expect.poll(async () => (await stats(page)).rows).not.toEqual(before);
});

test("N and Shift+N go from step to step", async ({ page, open, serve }) => {
  const layout = await (await serve(TRACES.manySteps)).json<Layout>("api/r/0/timeline");
  expect(layout.steps.length).toBeGreaterThan(10);
  await open(TRACES.manySteps, "timeline");
  const shows = async (at: number) => {
    await idle(page);
    const step = layout.steps[at];
    if (!step) throw new Error(`no step ${at}`);
    const air = 0.04 * (step.end_ns - step.start_ns);
    await expect.poll(() => Math.abs(Number(params(page).from) - (step.start_ns - air))).toBeLessThan(2);
    await expect.poll(() => Math.abs(Number(params(page).to) - (step.end_ns + air))).toBeLessThan(2);
    await expect(page.locator('.tl [role="status"].sr-only')).toContainText(`step ${step.step}`);
  };
  await page.keyboard.press("n");
  await shows(0);
  await page.keyboard.press("n");
  await shows(1);
  await page.keyboard.press("n");
  await shows(2);
  await page.keyboard.press("Shift+N");
  await shows(1);
});

test("comma and full stop go from slice to slice of a row", async ({ page, open, serve }) => {
  const server = await serve(TRACES.gpt);
  const { hits } = await server.json<Hits>("api/r/0/search?q=nvjet&limit=50");
  const middle = hits[10];
  if (!middle) throw new Error("too few kernels");
  await open(TRACES.gpt, "timeline", { sel: middle.id });
  const start = async () => {
    await idle(page);
    const id = Number(params(page).sel);
    return (await server.json<Details>(`api/r/0/slice/${id}`)).start_ns;
  };
  await page.keyboard.press("Period");
  await expect.poll(() => params(page).sel).not.toBe(String(middle.id));
  expect(await start()).toBeGreaterThan(middle.start_ns);
  await page.keyboard.press("Comma");
  await expect.poll(() => params(page).sel).toBe(String(middle.id));
});

test("lanes fold and can be pinned", async ({ page, open }) => {
  await open(TRACES.gpt, "timeline");
  const all = (await stats(page)).rows.length;
  const lane = page.locator("[role=treeitem][aria-expanded=true]").last();
  await lane.click();
  await expect.poll(() => params(page).collapsed).toBeTruthy();
  await idle(page);
  expect((await stats(page)).rows.length).not.toBe(all);
  await page.locator("[role=treeitem] button.tl-pin").first().click();
  await expect.poll(() => params(page).pins).toBeTruthy();
});

test.describe("with motion", () => {
  test.use({ contextOptions: { reducedMotion: "no-preference" } });

  test("a glide comes to rest where it should", async ({ page, open, serve }) => {
    const layout = await (await serve(TRACES.gpt)).json<Layout>("api/r/0/timeline");
    await open(TRACES.gpt, "timeline");
    await page.keyboard.press("n");
    const [step] = layout.steps;
    const air = 0.04 * ((step?.end_ns ?? 0) - (step?.start_ns ?? 0));
    await expect
      .poll(() => Math.abs(Number(params(page).from) - ((step?.start_ns ?? 0) - air)))
      .toBeLessThan(2);
  });
});

test("a long pan draws every frame in few calls", async ({ page, open }) => {
  await open(TRACES.stacks, "timeline");
  await hold(page, "KeyW", 10);
  const before = await stats(page);
  await hold(page, "KeyD", 40);
  const after = await stats(page);
  expect(after.frames - before.frames).toBeGreaterThanOrEqual(40);
  expect(after.quads).toBeGreaterThan(0);
  expect(after.drawCalls).toBeLessThanOrEqual(6);
});
