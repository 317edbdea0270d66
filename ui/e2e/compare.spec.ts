// Two runs compared: what the page shows is what `stepscope diff` prints, nothing is lost, and the same differs in nothing.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import type { DiffAnswer, Flame, Layout, SideBySide } from "../src/data/types.ts";
import type { AccountAnswer } from "../src/data/wire.ts";
import { amount, signedTime, time } from "../src/parts/format.ts";
import { countsOf, whatOf } from "../src/views/compare/changes.ts";
import { judged } from "../src/views/compare/side-by-side.tsx";
import { expectAccessible } from "./support/axe.ts";
import { ask, diff, run } from "./support/cli.ts";
import { expect, idle, params, test, visit } from "./support/fixtures.ts";
import { hostileTrace } from "./support/hostile.ts";
import { TRACES } from "./support/paths.ts";
import { columnOf, rowsOf, shown } from "./support/read.ts";
import type { LiveServer } from "./support/server.ts";
import { hold } from "./support/timeline.ts";

const { slowLoader: SLOW, fastLoader: FAST, gpt: GPT } = TRACES;

/** The number of a trace among the runs of a server. */
async function idOf(server: LiveServer, path: string): Promise<number> {
  const { runs } = await server.json<{ runs: { id: number; path: string }[] }>("api/runs");
  const found = runs.find((one) => one.path === path || path.endsWith(one.path));
  if (!found) throw new Error(`${path} is not among ${runs.map((one) => one.path)}`);
  return found.id;
}

async function openPair(
  page: Page,
  serve: (...paths: string[]) => Promise<LiveServer>,
  [before, after]: [string, string],
  more = "",
): Promise<{ server: LiveServer; a: number; b: number }> {
  const server = await serve(SLOW, FAST, GPT);
  const [a, b] = [await idOf(server, before), await idOf(server, after)];
  await visit(page, `${server.url}#/compare?a=${a}&b=${b}${more}`);
  return { server, a, b };
}

test("the verdict is the terminal's", async ({ page, serve }) => {
  await openPair(page, serve, [SLOW, FAST]);
  const answer = diff(SLOW, FAST);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict).toContainText(answer.judged.sentence);
  await expect(verdict).toContainText(answer.judged.because ?? "nothing");
  await expect(verdict.locator(".compare-grade")).toHaveText("Faster");
  await expect(verdict).toHaveClass(/faster/);
  expect(await shown(verdict.locator("dd").nth(0))).toContain(time(answer.before.mean_ns));
  expect(await shown(verdict.locator("dd").nth(1))).toContain(time(answer.after.mean_ns));
  expect(await shown(verdict.locator("dd").nth(2))).toContain(signedTime(answer.delta_ns));
  const notes = await verdict.locator(".compare-notes li").allInnerTexts();
  expect(notes.map((note) => note.trim().toLowerCase())).toEqual(
    answer.unlike.map((note) => `${note}.`.toLowerCase()),
  );
  await page.getByRole("button", { name: "Swap" }).click();
  await idle(page);
  await expect(verdict).toContainText(diff(FAST, SLOW).judged.sentence);
});

test("the bars of the waterfall add up to the change of the step, cause by cause", async ({ page, serve }) => {
  await openPair(page, serve, [SLOW, FAST]);
  const answer = diff(SLOW, FAST);
  const labels = new Map(
    [SLOW, FAST].flatMap((path) =>
      ask<AccountAnswer>("account", path).causes.map((row) => [row.cause, row.label] as const),
    ),
  );
  const bars = await page.locator("table.waterfall tbody tr").evaluateAll((rows) =>
    rows.map((row) => ({
      kind: (row as HTMLElement).dataset.kind,
      causes: ((row as HTMLElement).dataset.cause ?? "").split(" ").filter(Boolean),
      label: row.querySelector<HTMLElement>("th")?.innerText,
      cells: [...row.querySelectorAll<HTMLElement>("td")].map((cell) => cell.innerText.trim()),
      bar: (({ left, width }) => ({ left: Number.parseFloat(left), width: Number.parseFloat(width) }))(
        row.querySelector<HTMLElement>(".waterfall-bar")?.style ?? { left: "", width: "" },
      ),
    })),
  );
  expect(bars[0]).toMatchObject({ kind: "before", cells: ["", "", time(answer.before.mean_ns), ""] });
  expect(bars.at(-1)).toMatchObject({ kind: "after", cells: ["", "", "", time(answer.after.mean_ns)] });
  let sum = 0;
  for (const { kind, causes, label, cells } of bars.slice(1, -1)) {
    const rows = answer.causes.filter((cause) => causes.includes(cause.cause));
    const total = (of: "before_ns" | "after_ns" | "delta_ns") => rows.reduce((all, row) => all + row[of], 0);
    const some = (ns: number) => (ns === 0 ? "–" : time(ns));
    expect(cells.slice(1)).toEqual([
      signedTime(total("delta_ns")),
      some(total("before_ns")),
      some(total("after_ns")),
    ]);
    expect(label).toBe(
      kind === "others" ? `${causes.length} other causes` : labels.get(rows[0]?.cause ?? "kernel"),
    );
    sum += total("delta_ns");
  }
  expect(sum).toBe(answer.delta_ns);
  expect(bars.flatMap((bar) => bar.causes).sort()).toEqual(answer.causes.map((cause) => cause.cause).sort());
  // Lengths on the screen: the first bar is the step before, its scale holds for all others.
  const scale = (bars[0]?.bar.width ?? 0) / answer.before.mean_ns;
  for (const { causes, bar } of bars.slice(1, -1)) {
    const delta = answer.causes
      .filter((cause) => causes.includes(cause.cause))
      .reduce((all, row) => all + row.delta_ns, 0);
    expect(bar.width).toBeCloseTo(Math.abs(delta) * scale, 3);
  }
});

test("the table has the rows of the answer, in its order", async ({ page, serve }) => {
  await openPair(page, serve, [SLOW, FAST]);
  const { rows } = diff(SLOW, FAST);
  const table = "Changes by place";
  const some = (ns: number) => (ns === 0 ? "–" : time(ns));
  const first = [...rows].sort((a, b) => Math.abs(b.delta_ns) - Math.abs(a.delta_ns)).slice(0, 12);
  expect((await columnOf(page, table, "Change")).slice(0, 12)).toEqual(
    first.map((row) => signedTime(row.delta_ns)),
  );
  expect((await columnOf(page, table, "What")).slice(0, 12)).toEqual(first.map(whatOf));
  expect((await columnOf(page, table, "Before")).slice(0, 12)).toEqual(first.map((row) => some(row.before_ns)));
  expect((await columnOf(page, table, "After")).slice(0, 12)).toEqual(first.map((row) => some(row.after_ns)));
  expect((await columnOf(page, table, "Count")).slice(0, 12)).toEqual(first.map(countsOf));
  expect((await columnOf(page, table, "Noise")).slice(0, 12)).toEqual(
    first.map((row) => (row.noise_ns === null ? "–" : `±${time(row.noise_ns)}`)),
  );
  await expect(page.locator(".changes-card .card-note")).toHaveText(
    `${rows.length} of ${rows.length} rows: ${signedTime(rows.reduce((all, row) => all + row.delta_ns, 0))} per step, ${rows.filter((row) => row.is_noise).length} within noise`,
  );
});

test("the table is sorted, filtered and linked", async ({ page, serve }) => {
  const { b } = await openPair(page, serve, [SLOW, FAST]);
  const { rows } = diff(SLOW, FAST);
  const table = page.getByRole("table", { name: "Changes by place" });
  await table.getByRole("button", { name: "After" }).click();
  await idle(page);
  expect(params(page).sort).toBe("after_ns");
  const largest = Math.max(...rows.map((row) => row.after_ns));
  expect((await columnOf(page, "Changes by place", "After"))[0]).toBe(time(largest));
  await page.keyboard.press("Slash");
  await expect(page.getByRole("searchbox", { name: "Filter the changes" })).toBeFocused();
  await page.keyboard.type("^aten::conv2d$");
  await page.keyboard.press("Enter");
  await idle(page);
  const found = rows.filter((row) => [row.name, row.op, row.before_name].includes("aten::conv2d"));
  await expect(page.locator(".changes-card .card-note")).toContainText(
    `${found.length} of ${rows.length} rows`,
  );
  const row = table.locator('tr[data-index="0"]');
  await row.focus();
  await page.keyboard.press("Enter");
  await idle(page);
  await expect(table.locator(".detail-body")).toContainText("Matched by");
  await expectAccessible(page, "an opened change");
  await table.getByRole("link", { name: /of B$/ }).click();
  await idle(page);
  expect(params(page).run).toBe(String(b));
  await expect(page.locator("h1")).toHaveText(/Operators|Kernels/);
  await expect(page.locator('table tr[data-index="0"]')).toBeVisible();
  await page.goBack();
  await idle(page);
  await expect(table.locator(".detail-body")).toBeVisible();
});

test("metrics and findings are the answer's", async ({ page, serve }) => {
  await openPair(page, serve, [SLOW, FAST]);
  const { metrics, findings } = diff(SLOW, FAST);
  const heads = await page.locator('table[aria-label="Metrics"] tbody th').allInnerTexts();
  expect(heads.map((text) => text.toLowerCase())).toEqual(metrics.map((row) => row.metric.toLowerCase()));
  const cells = await rowsOf(page, "Metrics");
  metrics.forEach((row, at) => {
    if (row.unit === "nanoseconds") expect(cells[at]?.[0]).toBe(time(row.before ?? 0));
    if (row.unit === "bytes" && row.after !== null) expect(cells[at]?.[1]).toBe(amount(row.after, "bytes"));
    if (row.delta === 0) expect(cells[at]?.[2]).toBe("0");
    if (row.before === null || row.after === null) expect(cells[at]?.[2]).toBe("–");
  });
  const words = { new: "new", gone: "gone", both: "still there" };
  expect((await rowsOf(page, "Findings")).map((row) => row.slice(0, 2))).toEqual(
    findings.map((row) => [row.title.replaceAll("`", ""), words[row.change]]),
  );
});

test("a run differs from itself in nothing", async ({ page, serve }) => {
  const { a } = await openPair(page, serve, [GPT, GPT]);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict.locator(".compare-grade")).toHaveText("No difference");
  await expect(verdict).toContainText("The same");
  expect(await shown(verdict.locator("dd").nth(2))).toBe("0");
  await expect(page.locator("table.waterfall .waterfall-bar:not(.step)")).toHaveCount(0);
  expect(await page.locator("table.waterfall tbody tr").count()).toBe(3);
  expect(new Set(await columnOf(page, "Changes by place", "Change"))).toEqual(new Set(["0"]));
  expect(new Set(await columnOf(page, "Changes by place", "What"))).toEqual(new Set(["same"]));
  expect(new Set((await rowsOf(page, "Metrics")).map((row) => row[2]))).toEqual(new Set(["0"]));
  expect(new Set((await rowsOf(page, "Findings")).map((row) => row[1]))).toEqual(new Set(["still there"]));
  await page.getByRole("tab", { name: "Flame graph" }).click();
  await idle(page);
  await expect(page.locator(".flame-selected")).not.toContainText("%)");
  await expect(page.locator(".flame-card, .compare-panel")).not.toContainText("no width here");
  await page.getByRole("tab", { name: "Timelines" }).click();
  await idle(page);
  await expect(page.locator(".compare-timelines .card-note")).toHaveText("Both take as long");
  expect(params(page)).toMatchObject({ a: String(a), b: String(a), tab: "timelines" });
});

test("the flame graph has both runs' time per step", async ({ page, serve }) => {
  const { server, a, b } = await openPair(page, serve, [SLOW, FAST], "&tab=flame&weight=device");
  const perStep = async (id: number) => {
    const flame = await server.json<Flame>(`api/r/${id}/flame?weight=device`);
    const { steps } = await server.json<Layout>(`api/r/${id}/timeline`);
    return flame.total_ns / steps.length;
  };
  const [before, after] = [await perStep(a), await perStep(b)];
  const chosen = page.locator(".flame-selected");
  await expect(chosen).toContainText(`${time(before)} → ${time(after)} ${signedTime(after - before)}`);
  const graph = page.getByRole("application");
  await graph.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await idle(page);
  await expect(chosen).toContainText("thread");
  await page.keyboard.press("Enter");
  await idle(page);
  expect(params(page).zoom).toBeDefined();
  await page.keyboard.press("Escape");
  await idle(page);
  expect(params(page).zoom).toBeUndefined();
  await page.getByRole("group", { name: "Width of boxes" }).getByRole("button", { name: "Before" }).click();
  await idle(page);
  expect(params(page).width).toBe("before");
  await expect(chosen, "the numbers stay").toContainText(`${time(before)} → ${time(after)}`);
  await page.keyboard.press("Slash");
  await page.keyboard.type("copy");
  await expect(page.locator(".flame-found")).toHaveText(/^\d+ matches$/);
  await expectAccessible(page, "both flame graphs");
});

/** The window of a timeline, as the link to its own page has it. */
async function windowIn(page: Page, of: "A" | "B"): Promise<{ from: number; to: number }> {
  const half = page.getByRole("region", { name: `Timeline of ${of}` });
  const href = (await half.getByRole("link", { name: "Timeline" }).getAttribute("href")) ?? "";
  const search = new URLSearchParams(href.split("?")[1]);
  return { from: Number(search.get("from")), to: Number(search.get("to")) };
}

/** Clicks the step in the lane of steps. */
async function selectStep(page: Page, of: "A" | "B"): Promise<void> {
  const half = page.getByRole("region", { name: `Timeline of ${of}` });
  const tracks = await half.locator(".tl-tracks").boundingBox();
  const lane = await half.getByRole("treeitem", { name: /^Steps/ }).boundingBox();
  if (!tracks || !lane) throw new Error("no lane of steps");
  await page.mouse.click(tracks.x + tracks.width * 0.25, lane.y + lane.height / 2);
  await idle(page);
}

test("the timelines begin with their median steps and move together, at one scale", async ({ page, serve }) => {
  const { server, a, b } = await openPair(page, serve, [SLOW, FAST], "&tab=timelines");
  const median = async (id: number) => {
    const { steps } = await server.json<Layout>(`api/r/${id}/timeline`);
    const sorted = [...steps].sort((x, y) => x.end_ns - x.start_ns - (y.end_ns - y.start_ns));
    return sorted[Math.ceil(sorted.length / 2) - 1]!;
  };
  const [stepA, stepB] = [await median(a), await median(b)];
  await expect(page.getByRole("combobox", { name: "Step of A" })).toHaveValue(String(stepA.step));
  await expect(page.getByRole("combobox", { name: "Step of B" })).toHaveValue(String(stepB.step));
  const same = async () => {
    await selectStep(page, "A");
    await selectStep(page, "B");
    const [one, other] = [await windowIn(page, "A"), await windowIn(page, "B")];
    expect(Math.abs(one.from - stepA.start_ns - (other.from - stepB.start_ns))).toBeLessThan(3);
    expect(Math.abs(one.to - one.from - (other.to - other.from))).toBeLessThan(3);
    return one;
  };
  const first = await same();
  const longer = Math.max(stepA.end_ns - stepA.start_ns, stepB.end_ns - stepB.start_ns);
  expect(first.to - first.from).toBeGreaterThan(longer);
  expect(first.to - first.from).toBeLessThan(longer * 1.1);
  // The wheel over the lower one zooms both.
  const lower = await page.getByRole("region", { name: "Timeline of B" }).locator(".tl-tracks").boundingBox();
  await page.mouse.move((lower?.x ?? 0) + (lower?.width ?? 0) / 4, (lower?.y ?? 0) + 60);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await idle(page);
  const zoomed = await same();
  expect(zoomed.to - zoomed.from).toBeLessThan((first.to - first.from) * 0.7);
  // Keys do, too.
  await hold(page, "KeyD", 8);
  await page.keyboard.press("Digit0");
  await idle(page);
  const again = await same();
  expect(Math.abs(again.from - first.from)).toBeLessThan(3);
  await expect(page.locator(".compare-timelines")).toContainText("Selected:");
  await page.keyboard.press("Escape");
  await idle(page);
  await expect(page.locator(".compare-timelines")).not.toContainText("Selected:");
  await expectAccessible(page, "two timelines");
});

test("the window of the timelines is in the URL", async ({ page, context, serve }) => {
  const { server, a, b } = await openPair(
    page,
    serve,
    [SLOW, FAST],
    "&tab=timelines&stepa=3&stepb=2&win=0~50000000",
  );
  await expect(page.getByRole("combobox", { name: "Step of A" })).toHaveValue("3");
  const { steps } = await server.json<Layout>(`api/r/${a}/timeline`);
  const start = steps.find((one) => one.step === 3)!.start_ns;
  await selectStep(page, "A");
  expect(await windowIn(page, "A")).toEqual({ from: start, to: start + 50_000_000 });
  await hold(page, "KeyW", 12);
  await expect.poll(() => params(page).win).not.toBe("0~50000000");
  const other = await context.newPage();
  await visit(other, page.url());
  await selectStep(page, "A");
  await selectStep(other, "A");
  const [here, there] = [await windowIn(page, "A"), await windowIn(other, "A")];
  expect(Math.abs(here.from - there.from)).toBeLessThan(3);
  expect(Math.abs(here.to - there.to)).toBeLessThan(3);
  expect(params(page)).toMatchObject({ a: String(a), b: String(b) });
});

test("a side may have several recordings", async ({ page, serve }) => {
  const { server, a, b } = await openPair(page, serve, [SLOW, FAST]);
  const more = await idOf(server, GPT);
  await page.getByRole("button", { name: /More recordings of Before/ }).click();
  const dialog = page.getByRole("dialog", { name: /More recordings of Before/ });
  await expectAccessible(page, "the recordings of a side");
  await dialog.getByRole("checkbox", { name: /gpt_bf16/ }).check();
  await idle(page);
  expect(params(page)).toMatchObject({ a: `${a},${more}`, b: String(b) });
  const { stdout } = run("diff", SLOW, GPT, "--after", FAST, "--format", "json", "--top", "0");
  const answer = JSON.parse(stdout) as DiffAnswer;
  expect(answer.before.recordings).toBe(2);
  await expect(page.getByRole("region", { name: "Verdict" })).toContainText(answer.judged.sentence);
  await expect(page.getByRole("region", { name: "Verdict" })).toContainText("2 recordings before");
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Flame graph" }).click();
  await idle(page);
  await expect(page.locator(".compare-panel")).toContainText("the first of each side is drawn");
});

test("more than two runs stand side by side", async ({ page, serve }) => {
  await openPair(page, serve, [SLOW, FAST], "&tab=all");
  const { stdout } = run("diff", SLOW, FAST, GPT, "--format", "json");
  const answer = JSON.parse(stdout) as SideBySide;
  await expect(page.getByRole("tabpanel")).toContainText(answer.sentence);
  const table = page.getByRole("table", { name: "Runs side by side" });
  expect(await table.locator("tbody th").allInnerTexts()).toEqual(answer.runs.map((row) => row.run));
  const cells = await rowsOf(page, "Runs side by side");
  answer.runs.forEach((row, at) => {
    expect(cells[at]?.[0]).toBe(time(row.mean_ns));
    expect(cells[at]?.at(-1)).toBe(judged(row));
  });
  await expectAccessible(page, "runs side by side");
});

test("tabs, table and pickers by keyboard, in both themes without a complaint", async ({ page, serve }) => {
  await openPair(page, serve, [GPT, FAST]);
  await expectAccessible(page, "the changes");
  const tab = (name: string) => page.getByRole("tab", { name });
  await tab("Changes").focus();
  await page.keyboard.press("ArrowRight");
  await idle(page);
  await expect(tab("Flame graph")).toBeFocused();
  await expect(tab("Flame graph")).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowLeft");
  await idle(page);
  const row = (index: number) => page.locator(`table[aria-label="Changes by place"] tr[data-index="${index}"]`);
  await row(0).focus();
  await page.keyboard.press("ArrowDown");
  await expect(row(1)).toBeFocused();
  await page.keyboard.press("End");
  const { rows } = diff(GPT, FAST);
  await expect(row(rows.length - 1)).toBeFocused();
  await page.getByRole("combobox", { name: "After (B)" }).focus();
  await page.keyboard.press("ArrowUp");
  await idle(page);
  await expect(page.getByRole("region", { name: "Verdict" })).toContainText("per step");
});

test("hostile names are shown and do nothing", async ({ page, start, folder }) => {
  const paths = ["a", "b"].map((name) => {
    const path = join(folder, `${name}.pt.trace.json`);
    const file = hostileTrace();
    if (name === "b") for (const event of file.traceEvents) if (event.cat === "kernel") event.dur = 500;
    writeFileSync(path, JSON.stringify(file));
    return path;
  });
  const server = await start(paths);
  for (const more of ["?open=0", "?tab=flame", "?tab=timelines"]) {
    await visit(page, `${server.url}#/compare${more}`);
    await expect(page.locator(".compare-sentence")).toBeVisible();
    expect(await page.evaluate(() => "pwned" in window)).toBe(false);
    const wide = await page.evaluate(() => {
      const main = document.querySelector("main");
      return main ? main.scrollWidth - main.clientWidth : -1;
    });
    expect(wide, more).toBeLessThanOrEqual(1);
  }
});

test("narrow windows lose nothing to the side", async ({ page, serve }) => {
  for (const width of [400, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    for (const tab of ["changes", "flame", "timelines"]) {
      await openPair(page, serve, [SLOW, FAST], `&tab=${tab}`);
      const wide = await page.evaluate(() => {
        const main = document.querySelector("main");
        return main ? main.scrollWidth - main.clientWidth : -1;
      });
      expect(wide, `${tab} at ${width}`).toBeLessThanOrEqual(1);
    }
  }
});
