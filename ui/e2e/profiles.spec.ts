// Profiles of other tools in the browser: the numbers of the terminal, in their own units, and a sentence where a timeline
// would be needed.

import { expectAccessible } from "./support/axe.ts";
import { ask } from "./support/cli.ts";
import { address, expect, test, turnTo, visit } from "./support/fixtures.ts";
import { PROFILES } from "./support/paths.ts";
import { offline, urlOf } from "./support/report.ts";

interface Functions {
  functions: { name: string; self_share: number; self_samples: number | null }[];
}

const percent = (share: number) => `${(share * 100).toFixed(1)}%`;

test("the overview of a profile names its functions", async ({ page, open }) => {
  await open(PROFILES.calls, "overview");
  const first = ask<Functions>("functions", PROFILES.calls).functions[0]!;
  await expect(page.getByLabel("Verdict")).toContainText(`${first.name} (demo.py:`);
  const row = page.getByRole("table", { name: "Functions" }).getByRole("row").nth(1);
  await expect(row).toContainText(first.name);
  await expect(row).toContainText(percent(first.self_share));
  await expectAccessible(page, "a profile of calls");
});

test("lines that were timed are listed", async ({ page, open }) => {
  await open(PROFILES.lines, "overview");
  await expect(page.getByRole("table", { name: "Lines" })).toContainText("hot.py:12");
  await expectAccessible(page, "a profile of lines");
});

test("samples are counted, not timed", async ({ page, open }) => {
  await open(PROFILES.samples, "flame");
  const first = ask<Functions>("functions", PROFILES.samples).functions[0]!;
  const row = page
    .locator(".flame-functions")
    .getByRole("row")
    .filter({ hasText: `: ${first.name}` })
    .first();
  await expect(row).toContainText(String(first.self_samples));
  await expect(row).not.toContainText(" ns");
});

test("the navigation of a profile shows only what it has", async ({ page, open }) => {
  await open(PROFILES.calls, "overview");
  const nav = page.getByRole("navigation", { name: "Views" });
  await expect(nav.getByRole("link", { name: "Timeline" })).toHaveCount(0);
  await expect(nav.getByRole("link")).toHaveText([/Overview/, /Functions/, /Flame graph/]);
  await open(PROFILES.lines, "overview");
  await expect(nav.getByRole("link")).toHaveText([/Overview/, /Functions/, /Lines/]);
});

test("functions have their callers and callees, as the terminal counts them", async ({ page, open }) => {
  await open(PROFILES.calls, "functions", { filter: "^encode$", open: 0 });
  const edges = ask<{ callers: { caller: string; calls: number }[] }>(
    "functions",
    PROFILES.calls,
    "--callers",
    "encode",
  );
  const row = page.getByRole("table", { name: "Callers" }).getByRole("row").first();
  await expect(row).toContainText(edges.callers[0]!.caller);
  await expect(row).toContainText(`${edges.callers[0]!.calls} calls`);
  await expectAccessible(page, "callers and callees");
});

test("a line leads to its source, with hits and heat", async ({ page, open }) => {
  await open(PROFILES.lines, "lines");
  const lines = ask<{ lines: { line: number; hits: number; time_ns: number }[] }>(
    "lines",
    PROFILES.lines,
  ).lines;
  const hottest = lines.reduce((a, b) => (b.time_ns > a.time_ns ? b : a));
  const row = page.getByRole("table", { name: "Lines" }).getByRole("row").nth(1);
  await expect(row).toContainText(`hot.py:${hottest.line}`);
  await row.getByRole("link").click();
  const heated = page.locator(".heat-5 .source-number").filter({ hasText: new RegExp(`^${hottest.line}$`) });
  await expect(heated).toBeVisible();
  await expectAccessible(page, "source");
});

test("a file that the profile does not name is not shown", async ({ page, open, complaints }) => {
  complaints.expect(/400|Bad Request/);
  await open(PROFILES.calls, "source", { file: "/etc/passwd" });
  await expect(page.locator("main")).toContainText("this run has no function in this file");
});

test("a report of a profile has its pages and its source", async ({ page, context, reportOf }) => {
  const asked = await offline(context);
  const { file } = reportOf(PROFILES.lines);
  await visit(page, urlOf(file));
  const nav = page.getByRole("navigation", { name: "Views" });
  await expect(nav.getByRole("link")).toHaveText([/Overview/, /Functions/, /Lines/]);
  await turnTo(page, address("lines"));
  const row = page.getByRole("table", { name: "Lines" }).getByRole("row").nth(1);
  await expect(row).toContainText("hot.py:");
  await row.getByRole("link").click();
  await expect(page.locator(".source-line").first()).toBeVisible();
  await expect(page.locator("main .trouble")).toHaveCount(0);
  expect(asked, "asked for from elsewhere").toEqual([]);
});

test("views of a timeline say what the file is", async ({ page, open, complaints }) => {
  complaints.expect(/400|Bad Request/);
  await open(PROFILES.samples, "kernels");
  await expect(page.locator("main")).toContainText("needs a timeline, and this is a profile");
});
