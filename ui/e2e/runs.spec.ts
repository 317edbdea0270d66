// Which traces there are: several, new ones, none, broken ones, small ones; and a server that goes away.

import { rmSync } from "node:fs";
import { expectAccessible } from "./support/axe.ts";
import { address, expect, idle, params, test, turnTo, visit } from "./support/fixtures.ts";
import { TABS, TRACES, VIEWS } from "./support/paths.ts";
import { rowsOf, shown } from "./support/read.ts";
import { copyTrace, withoutDevice, writeTrace } from "./support/small.ts";

test("a folder with two runs: one is chosen at the top", async ({ page, start, folder }) => {
  copyTrace(folder, TRACES.ddp, "before.pt.trace.json.gz");
  copyTrace(folder, TRACES.fault, "after.pt.trace.json.zst");
  const server = await start([folder]);
  await visit(page, `${server.url}#/overview?step=4`);
  const button = page.locator(".run-button");
  const first = (await shown(button)).includes("before") ? "before" : "after";
  const other = first === "before" ? "after" : "before";
  const figures = await shown(page.locator(".tiles"));
  await button.click();
  const list = page.getByRole("dialog", { name: "Runs" });
  await expect(list.getByRole("button")).toHaveCount(2);
  await expectAccessible(page, "the list of runs");
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
  await button.click();
  await list.getByRole("button", { name: other }).click();
  await idle(page);
  await expect(button).toContainText(other);
  expect(params(page).run).toBe("1");
  expect(params(page).step, "the other run has steps of its own").toBeUndefined();
  expect(await shown(page.locator(".tiles"))).not.toBe(figures);
  await expect(page).toHaveTitle(new RegExp(other));
  await page.keyboard.press("Digit9");
  await idle(page);
  await expect(page.getByRole("region", { name: "Verdict" })).toContainText("per step before");
  await expectAccessible(page, "two runs compared");
});

test("Escape closes the list of runs in a view that has a use for Escape", async ({ page, serve }) => {
  const server = await serve(TRACES.ddp, TRACES.ddpOther);
  await visit(page, `${server.url}#/timeline?sel=5`);
  await page.locator(".run-button").click();
  const list = page.getByRole("dialog", { name: "Runs" });
  await expect(list).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
  await expect(page.locator(".tl-pane"), "the selection stays").toBeVisible();
});

test("a watched folder: a new trace appears by itself", async ({ page, start, folder }) => {
  const server = await start([folder]);
  await visit(page, server.url);
  await expect(page.locator("main")).toContainText("No traces yet");
  await expect(page.locator("main")).toContainText("appear here automatically");
  await expectAccessible(page, "an empty folder");
  copyTrace(folder, TRACES.nccl, "one.pt.trace.json.gz");
  await expect(page.locator(".verdict-text")).toBeVisible();
  await expect(page.locator(".run-name")).toHaveText("one");
  copyTrace(folder, TRACES.mini, "two.pt.trace.json");
  await expect(page.locator(".run-button")).toBeVisible();
  await page.locator(".run-button").click();
  await expect(page.locator(".run-list")).toContainText("two");
});

const BROKEN: Record<string, string> = {
  "no JSON": "this is not a trace\n",
  "another kind of JSON": '{"hello": "world"}',
  "an empty file": "",
};

for (const [kind, text] of Object.entries(BROKEN)) {
  test(`${kind}: the page says what is wrong and what to do`, async ({ page, start, folder, complaints }) => {
    complaints.expect(/422/);
    const server = await start([writeTrace(folder, "broken.pt.trace.json", text)]);
    await visit(page, server.url);
    // The history is about baselines, a service about its requests: not about this file.
    for (const view of VIEWS.filter((view) => view !== "history" && view !== "service")) {
      await turnTo(page, address(view));
      const trouble = page.locator("main .trouble").first();
      await expect(trouble).toBeVisible();
      expect((await shown(trouble.locator("p").first())).length).toBeGreaterThan(10);
      await expect(trouble.locator(".hint")).not.toBeEmpty();
    }
    await expectAccessible(page, kind);
  });
}

const SMALL = {
  "no events": () => ({ traceEvents: [] }),
  "one event": () => ({
    traceEvents: [{ ph: "X", name: "a", cat: "cpu_op", pid: 1, tid: 1, ts: 1, dur: 1, args: {} }],
  }),
  "a moment only": () => ({ traceEvents: [{ ph: "i", name: "a", pid: 1, tid: 1, ts: 5 }] }),
  "the host alone": () => withoutDevice(TRACES.stacks),
};

for (const [kind, make] of Object.entries(SMALL)) {
  test(`a trace with ${kind}`, async ({ page, start, folder }) => {
    const server = await start([writeTrace(folder, "small.pt.trace.json", make())]);
    const places = [
      ...VIEWS.map((view) => address(view)),
      ...TABS.map((tab) => address("diagnosis", { tab })),
      ...["device", "module"].map((weight) => address("flame", { weight })),
    ];
    await visit(page, server.url);
    for (const place of places) {
      await turnTo(page, place);
      await expect(page.locator(".trouble"), place).toHaveCount(0);
      await expect(page.locator("main .skeleton"), place).toHaveCount(0);
      const words = await shown(page.locator("main"));
      expect(words.length, place).toBeGreaterThan(20);
      expect(words, place).not.toMatch(/\bNaN\b|undefined|Infinity|\[object/);
    }
    if (kind === "no events") await expectAccessible(page, kind);
  });
}

test("the host alone: empty states say what to record", async ({ page, start, folder }) => {
  const server = await start([writeTrace(folder, "host.pt.trace.json", withoutDevice(TRACES.stacks))]);
  const says: [string, RegExp][] = [
    [address("kernels"), /ProfilerActivity\.CUDA/],
    [address("flame", { weight: "device" }), /ProfilerActivity\.CUDA/],
    [address("diagnosis", { tab: "idle" }), /ProfilerActivity\.CUDA/],
    [address("diagnosis", { tab: "roofline" }), /ProfilerActivity\.CUDA/],
    [address("overview"), /Host only/],
  ];
  await visit(page, server.url);
  for (const [place, words] of says) {
    await turnTo(page, place);
    await expect(page.locator("main"), place).toContainText(words);
  }
  await expectAccessible(page, "the overview of a host alone");
});

test("the server goes: the page keeps what it shows and says so", async ({ page, start, complaints }) => {
  complaints.expect(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const server = await start([TRACES.gpt]);
  await visit(page, `${server.url}#/operators`);
  const rows = (await rowsOf(page, "Operators")).slice(0, 15);
  await server.stop();
  await expect(page.getByRole("alert").filter({ hasText: "not responding" })).toBeVisible();
  expect((await rowsOf(page, "Operators")).slice(0, 15)).toEqual(rows);
  await expectAccessible(page, "a page without its server");
  await page.keyboard.press("Digit4");
  await expect(page.locator("main .trouble").first()).toContainText("not responding");
  await expect(page.locator("main .trouble .hint").first()).toContainText("stepscope view");
});

test("the server goes: the timeline goes on with what it has", async ({ page, start, complaints }) => {
  complaints.expect(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const server = await start([TRACES.gpt]);
  await visit(page, `${server.url}#/timeline`);
  await server.stop();
  await expect(page.getByRole("alert").filter({ hasText: "not responding" })).toBeVisible();
  const frames = await page.evaluate(() => window.stepscopeStats?.frames ?? 0);
  await page.keyboard.press("n");
  await page.waitForFunction((old) => (window.stepscopeStats?.frames ?? 0) > old, frames);
  const { quads, shown, counted } = await page.evaluate(() => ({ ...window.stepscopeStats! }));
  expect(quads).toBeGreaterThan(0);
  expect(shown + counted).toBeGreaterThan(0);
  await page.keyboard.press("Period");
  await expect(page.locator(".tl")).toBeVisible();
});

test("a trace that goes while the page is open leaves the list", async ({
  page,
  start,
  folder,
  complaints,
}) => {
  complaints.expect(/404/);
  const [first, second] = [
    copyTrace(folder, TRACES.mini, "a.pt.trace.json"),
    copyTrace(folder, TRACES.mini, "b.pt.trace.json"),
  ];
  const server = await start([folder]);
  await visit(page, server.url);
  await expect(page.locator(".run-button")).toBeVisible();
  rmSync(first);
  await expect(page.locator(".run-button")).toHaveCount(0);
  await expect(page.locator(".run-name")).toHaveText("b");
  rmSync(second);
  await expect(page.locator("main")).toContainText("No traces yet");
});
