// Snapshots of a GPU's memory: the picture's numbers are the terminal's, every allocation leads to its stack, and a report
// has it all without a server.

import type { Page } from "@playwright/test";
import { bytes } from "../src/parts/format.ts";
import { expectAccessible } from "./support/axe.ts";
import { ask } from "./support/cli.ts";
import { expect, test, visit } from "./support/fixtures.ts";
import { SNAPSHOTS } from "./support/paths.ts";
import { offline, urlOf } from "./support/report.ts";
import { hold } from "./support/timeline.ts";

interface Memory {
  peak_bytes: number;
  allocators: { allocated_bytes_peak: number; reserved_bytes_now: number }[];
  heap_lines: { function: string; peak_bytes: number }[];
}

interface About {
  devices: { peak_state: number; states: number; peak_bytes: number }[];
}

const chart = (page: Page) => page.getByRole("application", { name: "Allocations over time" });

/** Whether a pixel of the chart is colored: shares of the inner width and height, from below. */
async function colorAt(page: Page, right: number, up: number): Promise<number[]> {
  return chart(page).evaluate(
    (host, [right, up]) => {
      const canvas = host.querySelector("canvas")!;
      const ratio = canvas.width / host.clientWidth;
      const [width, height] = [host.clientWidth - 66, host.clientHeight - 30];
      const x = 66 + right! * width;
      const y = 8 + (1 - up!) * height;
      return [...canvas.getContext("2d")!.getImageData(x * ratio, y * ratio, 1, 1).data];
    },
    [right, up],
  );
}

test("the picture and the state at the peak have the terminal's numbers", async ({ page, open }) => {
  await open(SNAPSHOTS.training, "memory");
  const told = ask<Memory>("memory", SNAPSHOTS.training);
  const state = page.getByRole("region", { name: /State at the peak/ });
  await expect(state).toContainText(bytes(told.allocators[0]!.allocated_bytes_peak));
  const lines = page.getByRole("table", { name: "In use, by line" });
  for (const [at, line] of told.heap_lines.slice(0, 4).entries()) {
    await expect(lines.getByRole("row").nth(at + 1)).toContainText(line.function);
    await expect(lines.getByRole("row").nth(at + 1)).toContainText(bytes(line.peak_bytes));
  }
  // Something is drawn near the ground in the middle of the run, and nothing above the peak.
  expect((await colorAt(page, 0.5, 0.02))[3]).toBe(255);
  await expectAccessible(page, "the memory of a snapshot");
});

test("a click shows the allocation under it, with its stack and the state of that moment", async ({
  page,
  open,
}) => {
  const server = await open(SNAPSHOTS.training, "memory");
  const box = (await chart(page).boundingBox())!;
  await page.mouse.click(box.x + 66 + (box.width - 66) * 0.7, box.y + box.height - 40);
  const details = page.getByRole("region", { name: /^Allocation of/ });
  await expect(details).toBeVisible();
  const id = new URL(page.url()).hash.match(/alloc=(\d+)/)?.[1];
  const told = await server.json<{ bytes: number; frames: { function: string; python: boolean }[] }>(
    `api/r/0/memory/allocation?device=0&id=${id}`,
  );
  await expect(details).toContainText(bytes(told.bytes));
  const inner = told.frames.find((frame) => frame.python);
  await expect(details.getByRole("listitem").first()).toContainText(inner?.function ?? "");
  await expect(page.getByRole("region", { name: /^State at/ })).toBeVisible();
  await expectAccessible(page, "an allocation");
  await page.keyboard.press("Escape");
  await expect(details).toBeHidden();
});

test("zooming changes what is asked for, and the URL brings it back", async ({ page, open }) => {
  await open(SNAPSHOTS.training, "memory");
  const notes = page.locator(".snap-notes");
  const before = await notes.textContent();
  const box = (await chart(page).boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 62);
  await page.mouse.up();
  await expect(notes).not.toHaveText(before ?? "");
  await expect.poll(() => page.url()).toContain("window=");
  const after = await notes.textContent();
  await page.reload();
  await expect(notes).toHaveText(after ?? "");
  await page.keyboard.press("0");
  await expect(notes).toHaveText(before ?? "");
  await expect.poll(() => page.url()).not.toContain("window=");
});

test("keys zoom and move as on the timeline", async ({ page, open }) => {
  await open(SNAPSHOTS.training, "memory");
  await hold(page, "KeyW", 12);
  await expect.poll(() => page.url()).toContain("window=");
  const zoomed = page.url();
  await hold(page, "KeyD", 12);
  await expect.poll(() => page.url()).not.toBe(zoomed);
});

test("a request that failed is on the picture, and the map says why", async ({ page, open }) => {
  await open(SNAPSHOTS.fragmentation, "memory");
  await page.getByRole("button", { name: "Out of memory", exact: true }).click();
  const told = ask<{ refusals: { free_bytes: number; largest_free_bytes: number }[] }>(
    "memory",
    SNAPSHOTS.fragmentation,
  );
  const state = page.getByRole("region", { name: /^State/ });
  await expect(state).toContainText(bytes(told.refusals[0]!.free_bytes));
  await expect(state).toContainText(bytes(told.refusals[0]!.largest_free_bytes));
  await expect(page.getByRole("table", { name: "Segments" })).toBeVisible();
  await expectAccessible(page, "out of memory");
});

interface Leaked {
  leaks: { function: string; line: number; growth_bytes_each: number; held_bytes: number }[];
  full: { limit_bytes: number; iterations_left: number }[];
  looked_at: { text: string }[];
}

interface Refused {
  out_of_memory: { text: string; asked_bytes: number; missing_bytes: number }[];
  holders: { function: string; held_bytes: number; category: string }[];
}

/** What grows, as the terminal has it, is on the page. */
async function expectLeaks(page: Page, told: Leaked): Promise<void> {
  const card = page.getByRole("region", { name: "What grows" });
  const rows = card.getByRole("table", { name: "What grows" }).getByRole("row");
  expect(told.leaks.length).toBeGreaterThan(0);
  await expect(rows).toHaveCount(Math.min(5, told.leaks.length) + 1);
  for (const [at, leak] of told.leaks.slice(0, 5).entries()) {
    await expect(rows.nth(at + 1)).toContainText(leak.function);
    await expect(rows.nth(at + 1)).toContainText(`+${bytes(leak.growth_bytes_each)}`);
    await expect(rows.nth(at + 1)).toContainText(bytes(leak.held_bytes));
  }
  const all = told.leaks.reduce((sum, leak) => sum + leak.growth_bytes_each, 0);
  await expect(card).toContainText(`grows by ${bytes(all)} per iteration`);
  await expect(card).toContainText(told.looked_at[0]!.text);
  for (const full of told.full) {
    await expect(card).toContainText(`${bytes(full.limit_bytes)} would be full after`);
    await expect(card).toContainText(`${full.iterations_left.toLocaleString("en-US")} iteration`);
  }
}

/** Why memory ran out, as the terminal has it, is on the page. */
async function expectRefusal(page: Page, told: Refused): Promise<void> {
  const card = page.getByRole("region", { name: /^Out of memory: a shortage/ });
  await expect(card).toContainText(told.out_of_memory[0]!.text);
  await expect(card).toContainText(bytes(told.out_of_memory[0]!.missing_bytes));
  const rows = card.getByRole("table", { name: "What held most then" }).getByRole("row");
  await expect(rows).toHaveCount(told.holders.length + 1);
  for (const [at, holder] of told.holders.entries()) {
    await expect(rows.nth(at + 1)).toContainText(holder.function);
    await expect(rows.nth(at + 1)).toContainText(bytes(holder.held_bytes));
    await expect(rows.nth(at + 1)).toContainText(holder.category);
  }
}

test("what grows is a card with the terminal's lines, rates and forecast", async ({ page, open }) => {
  await open(SNAPSHOTS.leak, "memory");
  await expectLeaks(page, ask<Leaked>("memory", SNAPSHOTS.leak, "--leaks"));
  await expectAccessible(page, "what grows");
});

test("where nothing grows, the page says what it looked at and has no card", async ({ page, open }) => {
  await open(SNAPSHOTS.ring, "memory");
  const told = ask<Leaked>("memory", SNAPSHOTS.ring, "--leaks");
  expect(told.leaks).toEqual([]);
  await expect(page.getByRole("note")).toContainText(told.looked_at[0]!.text);
  await expect(page.getByRole("region", { name: "What grows" })).toHaveCount(0);
});

test("why memory ran out is a card with the terminal's words and holders", async ({ page, open }) => {
  await open(SNAPSHOTS.shortage, "memory");
  await expectRefusal(page, ask<Refused>("memory", SNAPSHOTS.shortage, "--oom"));
  await page.getByRole("button", { name: "Show that moment" }).click();
  await expect(page.getByRole("region", { name: /^State/ })).toBeVisible();
  await expectAccessible(page, "a shortage");
});

test("a report says what grows", async ({ page, context, reportOf }) => {
  const { file } = reportOf(SNAPSHOTS.leak);
  const asked = await offline(context);
  await visit(page, `${urlOf(file)}#/memory`);
  await expectLeaks(page, ask<Leaked>("memory", SNAPSHOTS.leak, "--leaks"));
  expect(asked).toEqual([]);
});

test("a report says why memory ran out, and has the state of that moment", async ({
  page,
  context,
  reportOf,
}) => {
  const { file } = reportOf(SNAPSHOTS.shortage);
  const asked = await offline(context);
  await visit(page, `${urlOf(file)}#/memory`);
  await expectRefusal(page, ask<Refused>("memory", SNAPSHOTS.shortage, "--oom"));
  await page.getByRole("button", { name: "Show that moment" }).click();
  await expect(page.getByRole("region", { name: /^State/ })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(asked).toEqual([]);
});

test("segments are stacked too, and bars have their blocks", async ({ page, open }) => {
  const server = await open(SNAPSHOTS.pending, "memory", { stack: "segments" });
  await expect(page.getByRole("application", { name: "Segments over time" })).toBeVisible();
  const about = await server.json<About>("api/r/0/memory/about");
  for (let state = 0; state < about.devices[0]!.states; state++) {
    const at = await server.json<{ pending_bytes: number }>(`api/r/0/memory/state?device=0&state=${state}`);
    if (at.pending_bytes === 0) continue;
    await open(server, "memory", { at: state });
    await expect(page.locator(".snap-blocks .map-pending").first()).toBeAttached();
    return;
  }
  throw new Error("nothing was ever pending");
});

test("a report has the picture, the peak and the stacks", async ({ page, context, reportOf }) => {
  const { file } = reportOf(SNAPSHOTS.training);
  const asked = await offline(context);
  await visit(page, `${urlOf(file)}#/memory`);
  await expect(page.getByRole("region", { name: /State at the peak/ })).toBeVisible();
  expect((await colorAt(page, 0.5, 0.02))[3]).toBe(255);
  const box = (await chart(page).boundingBox())!;
  await page.mouse.click(box.x + 66 + (box.width - 66) * 0.7, box.y + box.height - 40);
  await expect(page.getByRole("list", { name: "Stack, innermost first" })).toBeVisible();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await expect(page.getByRole("region", { name: /State when the snapshot was taken/ })).toBeVisible();
  await expectAccessible(page, "the memory in a report");
  expect(asked).toEqual([]);
});

test("the overview leads to the picture", async ({ page, open }) => {
  await open(SNAPSHOTS.graph, "overview");
  await page.getByRole("link", { name: "Every allocation over time" }).click();
  await expect(chart(page)).toBeVisible();
  // A CUDA graph has a pool of its own, which can be looked at alone.
  const notes = page.locator(".snap-notes");
  const all = await notes.textContent();
  await page.getByRole("button", { name: "Pool 1.0" }).click();
  await expect(notes).not.toHaveText(all ?? "");
  await expect(notes).toContainText("allocations in this window are drawn");
});

test("what is not in a snapshot is not offered", async ({ page, open }) => {
  await open(SNAPSHOTS.ring, "memory");
  await expect(page.getByRole("button", { name: "Out of memory" })).toHaveCount(0);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(page.getByRole("region", { name: /^State at 0 ns, event 0/ })).toBeVisible();
});
