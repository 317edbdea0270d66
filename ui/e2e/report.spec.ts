// The report: one file that shows what the live page shows, without a server and without a network.

import { statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Page } from "@playwright/test";
import type { Hits, Layout } from "../src/data/types.ts";
import { expectAccessible } from "./support/axe.ts";
import { readTrace } from "./support/events.ts";
import { address, expect, idle, params, test, turnTo, visit } from "./support/fixtures.ts";
import { TABS, TRACES, VIEWS } from "./support/paths.ts";
import { metricsOf, rowsOf, shown } from "./support/read.ts";
import { offline, sectionsOf, urlOf } from "./support/report.ts";
import { placeOf, stats } from "./support/timeline.ts";

const TABLES = [
  ["overview", "Causes"],
  ["operators", "Operators"],
  ["flame", "Functions"],
  ["memory", "Operators by memory on CUDA 0"],
  ["modules", "Modules"],
] as const;

// By one worker: each would write the same files.
test.describe.configure({ mode: "default" });

test("every view works from a file, without a network", async ({ page, context, reportOf }) => {
  const asked = await offline(context);
  const { file } = reportOf(TRACES.stacks);
  await visit(page, urlOf(file));
  await expect(page).toHaveTitle(/gpt_stack · Overview · Stepscope/);
  const places = [
    ...VIEWS.map((view) => address(view)),
    ...TABS.map((tab) => address("diagnosis", { tab })),
    ...["device", "module"].map((weight) => address("flame", { weight })),
    address("operators", { part: "annotations" }),
    address("operators", { by: "shape", sort: "calls", filter: "mm", open: 0 }),
    address("kernels", { by: "op" }),
    address("modules", { by: "class" }),
  ];
  for (const place of places) {
    await turnTo(page, place);
    await expect(page.locator("main .trouble"), place).toHaveCount(0);
    await expect(page.locator("main .skeleton"), place).toHaveCount(0);
    expect((await shown(page.locator("main"))).length, place).toBeGreaterThan(50);
  }
  expect(asked, "asked for from elsewhere").toEqual([]);
});

test("its figures are those of the live page", async ({ page, context, open, reportOf }) => {
  const { file } = reportOf(TRACES.stacks);
  await open(TRACES.stacks, "overview");
  const report = await context.newPage();
  await visit(report, urlOf(file));
  for (const [view, table] of TABLES) {
    for (const one of [page, report]) await turnTo(one, address(view));
    expect(await metricsOf(report), view).toEqual(await metricsOf(page));
    const live = await rowsOf(page, table);
    expect(live.length, table).toBeGreaterThan(3);
    // One screen may hold a row more: a note, a download.
    expect((await rowsOf(report, table)).slice(0, 10), table).toEqual(live.slice(0, 10));
  }
  for (const tab of ["idle", "roofline", "path"] as const) {
    for (const one of [page, report]) await turnTo(one, address("diagnosis", { tab }));
    expect(await metricsOf(report), tab).toEqual(await metricsOf(page));
  }
  await expect(report.locator("a[download]")).toHaveCount(0);
});

test("its timeline is that of the live page", async ({ page, context, open, serve, reportOf }) => {
  const server = await serve(TRACES.stacks);
  const layout = await server.json<Layout>("api/r/0/timeline");
  const { hits } = await server.json<Hits>("api/r/0/search?q=nvjet&order=dur&limit=1");
  const [slice] = hits;
  if (!slice) throw new Error("no kernel");
  await open(TRACES.stacks, "timeline");
  const report = await context.newPage();
  await visit(report, urlOf(reportOf(TRACES.stacks).file));
  const both = async (hash: string) => {
    for (const one of [page, report]) await turnTo(one, hash);
    // Not the rectangles: the report holds its counters at one width only.
    const [live, packed] = [await stats(page), await stats(report)];
    expect([packed.rows, packed.shown, packed.counted]).toEqual([live.rows, live.shown, live.counted]);
  };
  await both(address("timeline"));
  await both(address("timeline", { from: slice.start_ns - 50_000, to: slice.start_ns + 50_000 }));
  await both(address("timeline", { sel: slice.id, q: "aten::mm" }));
  for (const part of [".tl-pane", ".tl-found"])
    expect(await shown(report.locator(part))).toBe(await shown(page.locator(part)));
  const row = layout.groups.find((group) => group.kind === "device")?.rows[0] ?? 0;
  const area = `${Math.round(layout.extent_ns / 4)}-${Math.round(layout.extent_ns / 2)}-${row}`;
  await both(address("timeline", { area }));
  expect(await shown(report.locator(".tl-pane"))).toBe(await shown(page.locator(".tl-pane")));
});

test("its timeline can be searched, clicked and marked", async ({ page, context, reportOf }) => {
  await offline(context);
  await visit(page, `${urlOf(reportOf(TRACES.gpt).file)}#/timeline`);
  await page.getByRole("searchbox").fill("nvjet");
  await page.getByRole("searchbox").press("Enter");
  await idle(page);
  await expect(page.locator(".tl-found")).toContainText(/\d+ · /);
  await page.getByRole("button", { name: "Next match" }).click();
  await idle(page);
  await expect(page.locator(".tl-pane h2")).toContainText("nvjet");
  await page.keyboard.press("Escape");
  await idle(page);
  await click(page);
  await expect(page.locator(".tl-pane h2")).not.toBeEmpty();
  await page.mouse.move(0, 0);
  await idle(page);
  await expectAccessible(page, "the report's timeline");
});

/** Clicks on the first step. */
async function click(page: Page): Promise<void> {
  await page.keyboard.press("Digit0");
  await idle(page);
  const layout = await page.evaluate(async () => {
    const packed = document.getElementById("pack:timeline")?.textContent ?? "";
    const bytes = Uint8Array.from(atob(packed.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return (await new Response(stream).json()) as Layout;
  });
  await expect.poll(() => Number(params(page).to)).toBeGreaterThan(layout.extent_ns);
  const [step] = layout.steps;
  const row = layout.groups.find((group) => group.kind === "steps")?.rows[0] ?? 0;
  const { x, y } = await placeOf(page, layout, row, ((step?.start_ns ?? 0) + (step?.end_ns ?? 0)) / 2);
  await page.mouse.click(x, y);
  await idle(page);
}

test("what does not fit is left out, and the report says what", async ({ page, reportOf }) => {
  const { file } = reportOf(TRACES.gpt, "--max-size", "1200k");
  expect(statSync(file).size).toBeLessThanOrEqual(1_200_000);
  await visit(page, urlOf(file));
  const notice = page.locator(".notice");
  await expect(notice).toContainText("omits");
  await expect(notice).toContainText(/slices/);
  await expectAccessible(page, "a report that leaves something out");
  await turnTo(page, address("timeline"));
  expect((await stats(page)).quads).toBeGreaterThan(0);
  const whole = reportOf(TRACES.gpt);
  await visit(page, urlOf(whole.file));
  await expect(page.locator(".notice")).toHaveCount(0);
});

test("too little room is refused with a hint", async ({ reportOf }) => {
  expect(() => reportOf(TRACES.gpt, "--max-size", "10k")).toThrow(/--max-size/);
});

test("a redacted report names no folder and no argument", async ({ page, reportOf }) => {
  const open = sectionsOf(reportOf(TRACES.stacks).file);
  const { file } = reportOf(TRACES.stacks, "--redact");
  const closed = sectionsOf(file);
  // The program's own text goes too.
  expect([...closed.keys()].sort()).toEqual([...open.keys()].filter((key) => key !== "sources").sort());
  const folders = foldersIn(TRACES.stacks);
  expect(folders.length).toBeGreaterThan(10);
  const all = (sections: Map<string, string>) => [...sections.values()].join("\n");
  expect(
    folders.filter((name) => all(open).includes(name)).length,
    "they are there if not redacted",
  ).toBeGreaterThan(10);
  for (const [name, text] of closed) {
    const foreign = withoutOwnWords(name, text);
    const left = [...folders, dirname(TRACES.stacks), "External id", "Ev Idx"].filter((one) =>
      foreign.includes(one),
    );
    expect(left, name).toEqual([]);
  }
  expect(all(closed)).toContain(basename("torch/nn/modules/module.py"));
  await visit(page, `${urlOf(file)}#/modules`);
  await expect(page.locator("table[aria-label=Modules] tbody tr").first()).toBeVisible();
});

/** The folders in the trace's Python frames, each with its slash. */
function foldersIn(trace: string): string[] {
  const paths = readTrace(trace).traceEvents.flatMap((event) =>
    event.cat === "python_function" ? [/^(.*\/)[^/]*\.py\(/.exec(event.name ?? "")?.[1] ?? ""] : [],
  );
  return [...new Set(paths)].filter(Boolean);
}

/** A section without the texts that are the program's own: definitions and advice. */
function withoutOwnWords(name: string, text: string): string {
  if (name === "rows") return text;
  const own = new Set(["definitions", "definition", "why", "fix", "verify"]);
  return JSON.stringify(JSON.parse(text), (key, value) => (own.has(key) ? undefined : value));
}
