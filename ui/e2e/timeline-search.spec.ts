// Search finds what the file holds, no more and no less.

import type { Hits, Layout } from "../src/data/types.ts";
import { count, time } from "../src/parts/format.ts";
import { ns, readTrace, slicesOf } from "./support/events.ts";
import { expect, idle, params, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";

const QUERIES: [text: string, test: (name: string) => boolean][] = [
  ["aten::mm", (name) => name.toLowerCase().includes("aten::mm")],
  ["LAUNCH", (name) => name.toLowerCase().includes("launch")],
  ["/^aten::(mm|bmm|add)$/", (name) => /^aten::(mm|bmm|add)$/.test(name)],
  ["elementwise_kernel", (name) => name.toLowerCase().includes("elementwise_kernel")],
];

for (const [text, matches] of QUERIES) {
  test(`search for ${text}`, async ({ page, open }) => {
    await open(TRACES.gpt, "timeline");
    await page.keyboard.press("Slash");
    const field = page.getByRole("searchbox", { name: "Search slices by name" });
    await expect(field).toBeFocused();
    await field.fill(text);
    await idle(page);
    const found = slicesOf(TRACES.gpt).filter((event) => matches(event.name ?? ""));
    expect(found.length).toBeGreaterThan(10);
    const total = found.reduce((sum, event) => sum + ns(event.dur), 0);
    await expect(page.locator(".tl-found")).toContainText(`${count(found.length)} · ${time(total)}`);
    const names = new Set(found.map((event) => event.name)).size;
    await expect(page.locator(".tl-found-names summary")).toHaveText(
      `${count(names)} ${names === 1 ? "name" : "names"}`,
    );
    await expect.poll(() => params(page).q).toBe(text);
  });
}

test("instants are found too", async ({ serve }) => {
  const server = await serve(TRACES.gpt);
  const layout = await server.json<Layout>("api/r/0/timeline");
  const hits = await server.json<Hits>("api/r/0/search?q=%5Bmemory%5D&exact=1&limit=1");
  const records = readTrace(TRACES.gpt).traceEvents.filter((e) => e.ph === "i" && e.name === "[memory]");
  expect(records.length).toBeGreaterThan(100);
  expect(layout.ledger.drawn_points).toBeGreaterThanOrEqual(records.length);
  expect(hits.total).toBe(records.length);
});

test("Enter goes from hit to hit", async ({ page, open, serve }) => {
  const server = await serve(TRACES.gpt);
  const { hits, total } = await server.json<Hits>("api/r/0/search?q=aten%3A%3Amm&limit=1000");
  await open(TRACES.gpt, "timeline", { q: "aten::mm" });
  const field = page.getByRole("searchbox");
  await field.focus();
  for (const at of [0, 1, 2]) {
    await field.press("Enter");
    await idle(page);
    await expect.poll(() => params(page).sel).toBe(String(hits[at]?.id));
    await expect(page.locator(".tl-found")).toContainText(`${at + 1} of ${count(total)}`);
    await expect(page.locator(".tl-pane h2")).toHaveText(hits[at]?.name ?? "");
  }
  await field.press("Shift+Enter");
  await idle(page);
  await expect.poll(() => params(page).sel).toBe(String(hits[1]?.id));
  await page.getByRole("button", { name: "Next match" }).click();
  await idle(page);
  await expect.poll(() => params(page).sel).toBe(String(hits[2]?.id));
});

test("a regular expression that is none is said to be none", async ({ page, open, complaints }) => {
  complaints.expect(/400/);
  await open(TRACES.gpt, "timeline");
  const field = page.getByRole("searchbox");
  await field.fill("/aten::(/");
  await idle(page);
  await expect(page.locator(".tl-found")).toContainText(/regular expression/);
});

test("nothing found says so", async ({ page, open }) => {
  await open(TRACES.gpt, "timeline", { q: "no such name" });
  await expect(page.locator(".tl-found")).toContainText("0 · 0 ns");
  await expect(page.getByRole("button", { name: "Next match" })).toBeDisabled();
});
