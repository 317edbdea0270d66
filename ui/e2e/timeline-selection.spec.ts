// What is chosen on the timeline: a slice with its details and arrows, an area with its sums.

import type { Page } from "@playwright/test";
import type { Area, Details, Hits, Layout, Ref } from "../src/data/types.ts";
import { count, time } from "../src/parts/format.ts";
import { ns, readTrace, slicesOf } from "./support/events.ts";
import { expect, idle, params, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import type { LiveServer } from "./support/server.ts";
import { around, placeOf } from "./support/timeline.ts";

async function longest(server: LiveServer, name: string): Promise<Ref> {
  const { hits } = await server.json<Hits>(`api/r/0/search?q=${encodeURIComponent(name)}&order=dur&limit=1`);
  const [hit] = hits;
  if (!hit) throw new Error(`no slice is called ${name}`);
  return hit;
}

const layoutOf = (server: LiveServer) => server.json<Layout>("api/r/0/timeline");
const detailsOf = (server: LiveServer, id: number) => server.json<Details>(`api/r/0/slice/${id}`);

for (const name of ["nvjet", "aten::linear", "cudaLaunchKernel", "ProfilerStep#3"]) {
  test(`a click on ${name} says what it is`, async ({ page, open, serve }) => {
    const server = await serve(TRACES.gpt);
    const [layout, slice] = [await layoutOf(server), await longest(server, name)];
    const details = await detailsOf(server, slice.id);
    await page.setViewportSize({ width: 1440, height: 1600 });
    await open(TRACES.gpt, "timeline", around(slice));
    const { x, y } = await placeOf(page, layout, slice.row, slice.start_ns + slice.dur_ns / 2);
    await page.mouse.click(x, y);
    await idle(page);
    const pane = page.locator(".tl-pane");
    await expect(pane.locator("h2")).toHaveText(details.name);
    const facts = pane.locator(".tl-facts");
    await expect(facts).toContainText(time(details.dur_ns));
    await expect(facts).toContainText(time(details.self_ns));
    await expect(facts).toContainText(details.group);
    if (details.step !== null)
      await expect(facts.getByText(String(details.step), { exact: true })).toBeVisible();
    await expect.poll(() => params(page).sel).toBe(String(slice.id));
    await expect(page.locator('.tl [role="status"].sr-only')).toContainText(time(details.dur_ns));
    for (const parent of details.parents) await expect(pane).toContainText(parent.name);
  });
}

test("a slice says what the file says", async ({ serve }) => {
  const server = await serve(TRACES.gpt);
  const slice = await longest(server, "nvjet");
  const details = await detailsOf(server, slice.id);
  const origin = Math.min(
    ...readTrace(TRACES.gpt)
      .traceEvents.filter((e) => e.ph === "X")
      .map((e) => ns(e.ts)),
  );
  const same = slicesOf(TRACES.gpt).filter(
    (event) => event.name === details.name && ns(event.dur) === details.dur_ns,
  );
  expect(same.map((event) => ns(event.ts) - origin)).toContain(details.start_ns);
  const args = Object.keys(same[0]?.args ?? {});
  expect(details.args.map(([key]) => key)).toEqual(expect.arrayContaining(args));
});

test("arrows lead from a kernel to its launch and back", async ({ page, open, serve }) => {
  const server = await serve(TRACES.gpt);
  const kernel = await longest(server, "nvjet");
  const { links, name } = await detailsOf(server, kernel.id);
  const launch = links.find((link) => link.relation === "launched by")?.to;
  if (!launch) throw new Error("this kernel has no launch");
  const flows = readTrace(TRACES.gpt).traceEvents.filter((event) => event.ph === "s" || event.ph === "f");
  expect(flows.length, "the file ties launches to kernels").toBeGreaterThan(0);
  await open(TRACES.gpt, "timeline", { sel: kernel.id });
  const linked = page.locator(".tl-refs").first();
  for (const { to } of links) await expect(linked).toContainText(to.name);
  const title = page.locator(".tl-pane h2");
  await expect(title).toHaveText(name);
  await page.keyboard.press("BracketLeft");
  await idle(page);
  await expect(title).toHaveText(launch.name);
  await expect.poll(() => params(page).sel).toBe(String(launch.id));
  await page.keyboard.press("BracketRight");
  await idle(page);
  await expect(title).toHaveText(name);
  await page.goBack();
  await idle(page);
  await expect.poll(() => params(page).sel).toBe(String(launch.id));
});

test("the arrow is drawn", async ({ page, open, serve }) => {
  const server = await serve(TRACES.gpt);
  const kernel = await longest(server, "nvjet");
  const details = await detailsOf(server, kernel.id);
  const launch = details.links.find((link) => link.relation === "launched by")?.to;
  if (!launch) throw new Error("this kernel has no launch");
  const layout = await layoutOf(server);
  const window = { from: launch.start_ns - 20_000, to: kernel.start_ns + kernel.dur_ns + 20_000 };
  await page.setViewportSize({ width: 1440, height: 1600 });
  await open(TRACES.gpt, "timeline", { sel: kernel.id, ...window });
  const ends = [
    await placeOf(page, layout, kernel.row, kernel.start_ns),
    await placeOf(page, layout, launch.row, launch.start_ns + launch.dur_ns),
  ];
  const withArrow = await overlay(page);
  await page.route(`**/slice/${kernel.id}`, (route) => route.fulfill({ json: { ...details, links: [] } }));
  await open(TRACES.gpt, "timeline", { sel: kernel.id, ...window });
  const without = await overlay(page);
  const changed = withArrow.flatMap((line, y) => (line === without[y] ? [] : [y]));
  const tracks = await page.locator(".tl-tracks").boundingBox();
  const [top, bottom] = ends.map(({ y }) => y - (tracks?.y ?? 0)).sort((a, b) => a - b) as [number, number];
  // From the middle of one row to the middle of the other.
  expect(Math.abs(Math.min(...changed) - top)).toBeLessThan(14);
  expect(Math.abs(Math.max(...changed) - bottom)).toBeLessThan(14);
  expect(changed.length).toBeGreaterThan(0.9 * (bottom - top));
});

/** The layer above the rectangles, one number for each line of pixels. */
function overlay(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const canvas = document.querySelectorAll<HTMLCanvasElement>(".tl-tracks canvas")[1];
    const data = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height);
    if (!canvas || !data) throw new Error("there is no overlay");
    const pixels = new Uint32Array(data.data.buffer);
    return Array.from({ length: canvas.height }, (_, y) => {
      let hash = 0;
      for (let x = 0; x < canvas.width; x++) hash = (Math.imul(hash, 31) + pixels[y * canvas.width + x]!) | 0;
      return hash;
    });
  });
}

test("an area sums up what lies in it", async ({ page, open, serve }) => {
  const server = await serve(TRACES.gpt);
  const layout = await layoutOf(server);
  const device = layout.groups.find((group) => group.kind === "device");
  // Kernels that overlap stand in rows of their own.
  const rows = device?.rows.filter((row) => (layout.rows[row]?.count ?? 0) > 0) ?? [];
  const [first = -1, last = -1] = [rows[0], rows[rows.length - 1]];
  const [from, to] = [Math.round(layout.extent_ns * 0.4), Math.round(layout.extent_ns * 0.6)];
  await open(TRACES.gpt, "timeline", { from: from - 1_000_000, to: to + 1_000_000 });
  const [begin, end] = [await placeOf(page, layout, first, from), await placeOf(page, layout, last, to)];
  await page.mouse.move(begin.x, begin.y - 3);
  await page.mouse.down();
  await page.mouse.move(end.x, end.y + 3, { steps: 4 });
  await page.mouse.up();
  await idle(page);
  const { from: chosenFrom, to: chosenTo } = await areaNear(page, from, to);

  const area = await server.json<Area>(`api/r/0/area?from=${chosenFrom}&to=${chosenTo}&rows=${rows.join()}`);
  const pane = page.locator(".tl-pane");
  await expect(pane.locator(".tl-title")).toContainText(`${time(chosenTo - chosenFrom)} selected`);
  await expect(pane.locator(".tl-title")).toContainText(`${count(area.count)} slices · ${time(area.total_ns)}`);

  const byHand = sumsByHand(TRACES.gpt, chosenFrom, chosenTo);
  expect(area.count).toBe(byHand.count);
  expect(area.total_ns).toBe(byHand.total);
  const [most] = area.names;
  expect(most && [most.count, most.total_ns]).toEqual(most && byHand.names.get(most.name));
  await expect(pane.locator("tbody tr").first()).toContainText(time(most?.self_ns ?? 0));
});

/** The area in the address, once it is the one that was drawn. */
async function areaNear(page: Page, from: number, to: number): Promise<{ from: number; to: number }> {
  const chosen = () => (/^(\d+)-(\d+)-/.exec(params(page).area ?? "") ?? []).slice(1).map(Number);
  // A pixel is some 15 µs wide here.
  const isNear = () => chosen().map((at, i) => Math.abs(at - [from, to][i]!) < 40_000);
  await expect.poll(isNear, { message: `an area from ${from} to ${to}` }).toEqual([true, true]);
  const [first = 0, last = 0] = chosen();
  return { from: first, to: last };
}

test("an area ends where the button is released, not where the pointer was seen last", async ({
  page,
  open,
  serve,
}) => {
  const layout = await layoutOf(await serve(TRACES.gpt));
  const row = layout.groups.find((group) => group.kind === "device")?.rows[0] ?? -1;
  const [from, seen, to] = [0.4, 0.45, 0.6].map((share) => Math.round(layout.extent_ns * share));
  await open(TRACES.gpt, "timeline", { from: from! - 1_000_000, to: to! + 1_000_000 });
  const places = [from!, seen!, to!].map((at) => placeOf(page, layout, row, at));
  const [begin, middle, end] = await Promise.all(places);
  // A busy browser may leave moves out: here nothing is said between the middle and the release.
  const devtools = await page.context().newCDPSession(page);
  const mouse = (type: "mousePressed" | "mouseMoved" | "mouseReleased", at: { x: number; y: number }) =>
    devtools.send("Input.dispatchMouseEvent", { type, ...at, button: "left", buttons: 1, clickCount: 1 });
  await mouse("mousePressed", begin!);
  await mouse("mouseMoved", middle!);
  await mouse("mouseReleased", end!);
  await areaNear(page, from!, to!);
});

/** What lies in a stretch of the only stream, from the file itself. */
function sumsByHand(trace: string, from: number, to: number) {
  const kernel = slicesOf(trace).find((event) => event.cat === "kernel");
  const work = slicesOf(trace).filter((event) => event.pid === kernel?.pid && event.tid === kernel?.tid);
  const origin = Math.min(...slicesOf(trace).map((event) => ns(event.ts)));
  const names = new Map<string, [count: number, total: number]>();
  let [number, total] = [0, 0];
  for (const event of work) {
    const start = ns(event.ts) - origin;
    const inside = Math.min(to, start + ns(event.dur)) - Math.max(from, start);
    if (inside <= 0) continue;
    const [n, t] = names.get(event.name ?? "") ?? [0, 0];
    names.set(event.name ?? "", [n + 1, t + inside]);
    number++;
    total += inside;
  }
  return { count: number, total, names };
}

test("Escape closes what is chosen", async ({ page, open, serve }) => {
  const slice = await longest(await serve(TRACES.gpt), "nvjet");
  await open(TRACES.gpt, "timeline", { sel: slice.id });
  await expect(page.locator(".tl-pane")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.locator(".tl-pane")).toHaveCount(0);
  await expect.poll(() => params(page).sel).toBeUndefined();
});
