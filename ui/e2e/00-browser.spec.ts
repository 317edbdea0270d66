// Before all else: the browser can do what the other tests rest on.

import { expect, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";

test("this browser has WebGL2", async ({ page }) => {
  const renderer = await page.evaluate(() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    return gl?.getParameter(gl.VERSION) as string | undefined;
  });
  expect(renderer, "a webgl2 context: without it the timeline's main painter is untested").toContain(
    "WebGL 2.0",
  );
});

test("the page itself draws with it", async ({ page, open }) => {
  await open(TRACES.gpt, "timeline");
  expect(await page.evaluate(() => window.stepscopeStats?.backend)).toBe("webgl2");
});
