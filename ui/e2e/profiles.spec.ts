// Profiles of other tools in the browser: the numbers of the terminal, in their own units, and a sentence where a timeline
// would be needed.

import { expectAccessible } from "./support/axe.ts";
import { ask } from "./support/cli.ts";
import { expect, test } from "./support/fixtures.ts";
import { PROFILES } from "./support/paths.ts";

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

test("views of a timeline say what the file is", async ({ page, open, complaints }) => {
  complaints.expect(/400|Bad Request/);
  await open(PROFILES.samples, "kernels");
  await expect(page.locator("main")).toContainText("needs a timeline, and this is a profile");
});
