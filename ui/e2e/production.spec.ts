// The dashboard of a service: what an engineer sees first, and the ways from there. The server is the test itself.

import type { Page } from "@playwright/test";
import type { ServiceDashboard } from "../src/data/production-types.ts";
import { APART_MS } from "../src/views/production/live.ts";
import { expectAccessible } from "./support/axe.ts";
import { expect, idle, params, settled, test, visit } from "./support/fixtures.ts";
import { headsOf, rowsOf } from "./support/read.ts";
import { NOW, SLOW_AT } from "./support/service.ts";
import { type ServicePage, serveReport, serveService } from "./support/service-page.ts";

async function open(page: Page, hash = "", staging: ServicePage["staging"] = {}): Promise<ServicePage> {
  const served = await serveService(page, staging);
  await visit(page, served.url + hash);
  await expect(page.locator(".sv-live")).not.toHaveText("Connecting");
  return served;
}

/** Where a minute is in a chart. */
async function place(page: Page, minute: number, chart = 0): Promise<{ x: number; y: number }> {
  const box = await page.locator(".sv-plot").nth(chart).boundingBox();
  if (!box) throw new Error("no such chart");
  const share = (minute - (NOW - 360)) / 360;
  return { x: box.x + 60 + share * (box.width - 70), y: box.y + box.height / 2 };
}

test("first sight: slow since when, which route, which region, which counter", async ({ page }) => {
  const served = await open(page);
  // The service is all there is: its page comes first, and no page about traces is offered.
  expect(page.url()).toContain("#/service");
  await expect(page.getByRole("navigation").getByRole("link")).toHaveText(["Service"]);
  await expect(page).toHaveTitle("ranker · Service · Stepscope");
  // The keys of pages that have nothing to show lead nowhere.
  await page.keyboard.press("2");
  await idle(page);
  expect(page.url()).toContain("#/service");
  await expect(page.locator(".sv-sentence")).toHaveText(
    "/predict has been slow since 02:07: p95 rose from 64 ms to 190 ms (2.99×); inference grew most.",
  );
  const facts = page.locator(".sv-facts");
  await expect(facts).toContainText("02:07 53 minutes");
  await expect(facts).toContainText("GPU power, GPU 0");
  // All of it and the heat map fit the first screen.
  for (const part of [".sv-verdict", ".sv-tiles", ".sv-heat"]) {
    const box = await page.locator(part).first().boundingBox();
    expect((box?.y ?? 9999) + (box?.height ?? 0), part).toBeLessThanOrEqual(900);
  }
  expect((await rowsOf(page, "Routes"))[0]?.slice(0, 5)).toEqual([
    "/predict",
    expect.stringMatching(/^[\d.]+ ms$/),
    expect.stringMatching(/^\+/),
    "",
    expect.stringMatching(/^inference \+/),
  ]);
  await expect(page.locator(".sv-strip h3")).toContainText([
    "Percentiles",
    "Requests per second",
    "Errors per second",
    "Time per request by region",
    "Burn rate of error budgets",
    "GPU busy",
  ]);
  await expect(page.locator(".sv-threshold")).toHaveCount(2);
  expect((await rowsOf(page, "Targets"))[0]?.join(" ")).toMatch(/burning fast: p95<70ms \/predict/);
  const words = await page.locator("main").innerText();
  expect(words).not.toMatch(/\bNaN\b|undefined|Infinity|\[object/);
  expect(served.asked).toEqual([{ last: "6h" }]);
  await expectAccessible(page, "a service");
});

test("the heat map is painted, in both themes, and again after a switch", async ({ page }) => {
  await open(page);
  const dark = () =>
    page.locator(".sv-heat").evaluate((canvas: HTMLCanvasElement) => {
      // A copy to read from: the page's own is made to be drawn.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {
        willReadFrequently: true,
      })!;
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      let painted = 0;
      let light = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 0) continue;
        painted++;
        light += data[at]! + data[at + 1]! + data[at + 2]!;
      }
      return { share: painted / (data.length / 4), light: light / painted / 3 };
    });
  const before = await dark();
  expect(before.share).toBeGreaterThan(0.4);
  await page.getByRole("button", { name: "Switch to dark theme" }).click();
  await idle(page);
  const after = await dark();
  expect(after.share).toBeCloseTo(before.share);
  expect(after.light).not.toBeCloseTo(before.light, 0);
});

test("a click on a route shows it alone, and the URL keeps it", async ({ page }) => {
  const served = await open(page);
  await page.locator('table[aria-label="Routes"] tbody tr', { hasText: "/generate" }).click();
  await idle(page);
  expect(params(page).route).toBe("/generate");
  expect(served.asked.at(-1)).toEqual({ last: "6h", route: "/generate" });
  await expect(page.getByRole("combobox", { name: "Route" })).toHaveValue("/generate");
  await expect(page.locator('table[aria-label="Routes"] tr.is-open')).toContainText("/generate");
  await expect(page.locator(".sv-sentence")).not.toContainText("/predict");
  await page.getByRole("button", { name: "30d" }).click();
  await idle(page);
  expect(params(page)).toMatchObject({ route: "/generate", last: "30d" });
  await page.reload();
  await settled(page);
  expect(served.asked.at(-1)).toEqual({ last: "30d", route: "/generate" });
  await page.getByRole("combobox", { name: "Route" }).selectOption("");
  await idle(page);
  expect(params(page).route).toBeUndefined();
  await page.goBack();
  await idle(page);
  expect(params(page).route).toBe("/generate");
});

test("routes are sorted by a column", async ({ page }) => {
  await open(page);
  expect(await headsOf(page, "Routes")).toContain("p95");
  await page.locator('table[aria-label="Routes"]').getByRole("button", { name: "p95", exact: true }).click();
  expect((await rowsOf(page, "Routes")).map(([name]) => name)).toEqual([
    "/generate",
    "/predict",
    "/embed",
    "/health",
  ]);
  expect(params(page).sort).toBe("p95_ns");
});

test("one cursor goes through all charts, and a drag over any of them zooms", async ({ page }) => {
  const served = await open(page);
  const middle = await place(page, NOW - 100);
  await page.mouse.move(middle.x, middle.y);
  const charts = await page.locator(".sv-plot").count();
  expect(charts).toBeGreaterThan(10);
  await expect(page.locator(".sv-cursor")).toHaveCount(charts);
  await expect(page.locator(".sv-moment").first()).toContainText("Tue, Nov 17, 01:");
  // In a chart of the other card.
  await page.locator(".sv-plot").nth(3).scrollIntoViewIfNeeded();
  const from = await place(page, NOW - 90, 3);
  const to = await place(page, NOW - 30, 3);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await expect(page.locator(".sv-marked")).toHaveCount(charts);
  await page.mouse.up();
  await idle(page);
  const zoom = params(page);
  expect(Math.abs(Number(zoom.from) - (NOW - 90))).toBeLessThanOrEqual(2);
  expect(Math.abs(Number(zoom.until) - (NOW - 30))).toBeLessThanOrEqual(2);
  expect(served.asked.at(-1)).toMatchObject({ from: Number(zoom.from), until: Number(zoom.until) });
  await expect(page.locator(".sv-live")).toHaveText("Zoomed in");
  await expect(page.locator(".sv-sentence")).toContainText("was slow from 02:07 on");
  await page.keyboard.press("Escape");
  await idle(page);
  expect(params(page)).toEqual({});
  await page.goBack();
  await idle(page);
  expect(params(page)).toEqual(zoom);
  await page.getByRole("button", { name: /back to the last 6 hours/ }).click();
  await idle(page);
  expect(params(page)).toEqual({});
});

test("the cursor and the zoom are reached by keys", async ({ page }) => {
  await open(page);
  await page.locator(".sv-board").first().focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator(".sv-board output").first()).toContainText("requests per second");
  for (let at = 0; at < 12; at++) await page.keyboard.press("Shift+ArrowLeft");
  await expect(page.locator(".sv-marked").first()).toBeVisible();
  await page.keyboard.press("Enter");
  await idle(page);
  expect(Number(params(page).until) - Number(params(page).from)).toBeGreaterThanOrEqual(12);
  await page.locator("body").press("Escape");
  await idle(page);
  expect(params(page)).toEqual({});
});

test("the charts as a table", async ({ page }) => {
  await open(page, "#/service?last=1h");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  const heads = await headsOf(page, "Points");
  expect(heads).toEqual(expect.arrayContaining(["Requests", "p95", "inference", "GPU power, GPU 0"]));
  const [first] = await rowsOf(page, "Points");
  expect(first?.[0]).toBe("Tue, Nov 17, 02:59");
  await expectAccessible(page, "a table of points");
});

test("one such request: its regions inside each other, and where Python was", async ({ page }) => {
  await open(page);
  await page.getByRole("button", { name: /Show one such request/ }).click();
  const dialog = page.getByRole("dialog", { name: "Request" });
  await expect(dialog).toContainText("/predict took");
  const rows = await rowsOf(dialog, "Regions of the request");
  expect(rows.map(([name]) => name)).toEqual([
    "inference",
    "to device",
    "forward",
    "preprocess",
    "postprocess",
    "(outside regions)",
  ]);
  const indent = (name: string) =>
    dialog.locator("td", { hasText: name }).evaluate((cell) => getComputedStyle(cell).paddingLeft);
  expect(await indent("forward")).not.toBe(await indent("inference"));
  await expect(dialog.locator(".python-stack li").last()).toHaveText("_wait_for_clock (app/model/power.py:19)");
  await expectAccessible(page, "a request");
  const link = page.url();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await idle(page);
  expect(params(page)).toEqual({});
  await visit(page, link);
  await expect(dialog).toContainText("/predict took");
  await dialog.getByRole("button", { name: "Close" }).click();
  // From the table by keyboard, and from the heat map.
  const row = page.locator('table[aria-label="Requests"] tbody tr').first();
  await row.focus();
  await page.keyboard.press("Enter");
  await expect(dialog).toContainText("/generate took");
  await page.keyboard.press("Escape");
  await page.locator(".sv-dot").last().click();
  await expect(dialog).toContainText("took");
});

/** What went out before it has arrived here: questions and this one take the same way. */
async function flushed(page: Page): Promise<void> {
  await page.evaluate(async () => (await fetch("stepscope.css")).text());
}

test("new data is asked for when it is announced, seldom enough, and nothing is polled", async ({ page }) => {
  const start = NOW * 60_000;
  await page.clock.install({ time: start });
  const served = await open(page);
  const asked = () => served.asked.length;
  expect(asked()).toBe(1);
  served.staging.change = (of: ServiceDashboard) => ({ ...of, newest_ns: NOW * 60e9 + 1, processes: 7 });
  // An hour later the clock is stalled, and all of them come at one moment: one question answers them.
  await page.clock.pauseAt(start + 3_600_000);
  const say = () => page.evaluate(() => window.serviceEvents.say("changed"));
  for (let at = 0; at < 5; at++) await say();
  await page.clock.runFor(100);
  await expect(page.locator(".sv-live-box")).toContainText("7 processes");
  expect(asked()).toBe(2);
  // What comes right after it is asked for, too, but not at once, and then no more.
  await page.clock.runFor(100);
  await say();
  await page.clock.runFor(APART_MS - 500);
  await flushed(page);
  expect(asked()).toBe(2);
  await page.clock.runFor(500);
  await expect.poll(asked).toBe(3);
  await page.clock.runFor(10 * APART_MS);
  await flushed(page);
  expect(asked()).toBe(3);
  expect(served.looks.many).toBe(1);
  // A stretch of the past does not move.
  await page.clock.resume();
  await visit(page, `${served.url}#/service?from=${NOW - 200}&until=${NOW - 100}`);
  const before = asked();
  await page.evaluate(() => window.serviceEvents.say("changed"));
  await page.clock.fastForward(10 * APART_MS);
  await idle(page);
  await flushed(page);
  expect(asked()).toBe(before);
});

test("a lost connection is said, with its time, and mended by itself", async ({ page }) => {
  await page.clock.setFixedTime(new Date(Date.UTC(2026, 10, 17, 10, 42)));
  const served = await open(page);
  await expect(page.locator(".sv-live")).toHaveText("Live");
  await page.evaluate(() => window.serviceEvents.say("error"));
  await expect(page.locator(".sv-live")).toHaveText("Not live since 10:42");
  await expect(page.locator(".sv-sentence")).toContainText("/predict has been slow");
  await expectAccessible(page, "a lost connection");
  const before = served.asked.length;
  await page.evaluate(() => window.serviceEvents.say("open"));
  await expect(page.locator(".sv-live")).toHaveText("Live");
  await expect.poll(() => served.asked.length).toBe(before + 1);
});

test("what is not there says how to get it", async ({ page }) => {
  const served = await open(page, "", { without: ["regions", "targets", "counters"] });
  const main = page.locator("main");
  await expect(main).toContainText("No regions are marked inside the requests.");
  await expect(main).toContainText('request.region("inference")');
  await expect(main).toContainText("No targets are set.");
  await expect(main).toContainText("stepscope monitor --pid PID -o service");
  await expectAccessible(page, "a bare service");
  served.staging.without = ["requests"];
  await visit(page, served.url);
  await expect(main).toContainText("No requests yet.");
  await expect(main).toContainText("stepscope.ServiceMonitor");
  await expectAccessible(page, "a service without requests");
  served.staging.without = [];
  await visit(page, `${served.url}#/service?from=100&until=200`);
  await expect(main).toContainText("No requests in this stretch.");
  await page.getByRole("button", { name: "Show the newest requests" }).click();
  await expect(page.locator(".sv-sentence")).toBeVisible();
});

test("a calm service is called so", async ({ page }) => {
  await open(page, "", { without: ["trouble"] });
  await expect(page.locator(".sv-verdict.good .sv-word")).toContainText("All fine");
  await expect(page.locator(".sv-mark")).toHaveCount(0);
});

for (const [width, height] of [
  [390, 844],
  [1024, 768],
  [1440, 900],
] as const)
  test(`nothing is wider than a screen of ${width} pixels`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    const served = await open(page);
    for (const hash of ["", "?last=30d", "?show=table", "?route=%2Fpredict"]) {
      await visit(page, `${served.url}#/service${hash}`);
      const over = await page.evaluate(() => {
        const main = document.querySelector("main")!;
        return [main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth];
      });
      expect(over, `${hash} at ${width}`).toEqual([0, 0]);
    }
    await visit(page, served.url);
    await page.getByRole("button", { name: /Show one such request/ }).click();
    const dialog = await page.getByRole("dialog", { name: "Request" }).boundingBox();
    expect(dialog!.x).toBeGreaterThanOrEqual(0);
    expect(dialog!.x + dialog!.width).toBeLessThanOrEqual(width);
  });

test("a report holds one period: routes are chosen, nothing is live, nothing zooms", async ({ page }) => {
  await visit(page, await serveReport(page));
  await expect(page.locator(".sv-sentence")).toContainText("/predict was slow from 02:07 on");
  await expect(page.locator(".sv-header")).toContainText("Nov 16, 21:00 to Nov 17, 03:00");
  await expect(page.locator(".sv-live")).toHaveCount(0);
  await expect(page.getByRole("group", { name: "Period" })).toHaveCount(0);
  const [from, to] = [await place(page, NOW - 200), await place(page, NOW - 100)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 3 });
  await page.mouse.up();
  await idle(page);
  expect(params(page)).toEqual({});
  await page.getByRole("combobox", { name: "Route" }).selectOption("/embed");
  await idle(page);
  await expect(page.locator(".sv-sentence")).not.toContainText("/predict");
  await expectAccessible(page, "a report of a service");
  // A route that the report has no details of.
  await page.getByRole("combobox", { name: "Route" }).selectOption("/health");
  await expect(page.locator(".trouble")).toContainText("Not included in this report.");
});

test("times can be read in UTC", async ({ browser }) => {
  const context = await browser.newContext({ timezoneId: "America/New_York", reducedMotion: "reduce" });
  const page = await context.newPage();
  await open(page);
  await expect(page.locator(".sv-sentence")).toContainText("since 21:07");
  await page.getByRole("button", { name: "UTC" }).click();
  await expect(page.locator(".sv-sentence")).toContainText("since 02:07");
  expect(params(page).zone).toBe("utc");
  expect(SLOW_AT).toBe(NOW - 53);
  await context.close();
});
