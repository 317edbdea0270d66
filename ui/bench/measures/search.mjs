// From a text typed into the search until the number of hits has been drawn.

import { within } from "../browser.mjs";
import { armTimer, still, takeTimer } from "./watch.mjs";

const PATIENCE_MS = 60_000;

/** Many hits, few, a pattern, none. Each is asked once: an answer kept by the server would not count. */
export const SEARCHES = [
  "aten::",
  "gemm",
  "cudaLaunchKernel",
  "/^aten::(add|mul)/",
  "backward",
  "no such name",
];

/** Milliseconds with and without the moment the page waits for more typing, and of the request alone. */
export async function timeSearch(page, text) {
  await page.keyboard.press("Slash");
  await page.evaluate(() => performance.clearResourceTimings());
  // A number and the time in all: "12 · 3 ms". While it waits there is an ellipsis.
  await page.evaluate(armTimer, { event: "input", selector: ".tl-found > .num", pattern: "\\d.* · " });
  await page.keyboard.insertText(text);
  const timed = within(PATIENCE_MS, page.evaluate(takeTimer), `the search for ${text}`);
  const { began, shown, ended, text: told } = await timed;
  const [request] = await page.evaluate(searchRequests);
  if (!request) throw new Error(`the search for ${text} asked the server nothing`);
  await page.evaluate(still);
  await page.evaluate(clearSearch);
  await page.evaluate(still);
  return {
    text,
    hits: Number(told.split(" · ")[0].replace(/\D/g, "")),
    typedMs: ended - began,
    askedMs: ended - request.start,
    shownMs: shown - request.start,
    apiMs: request.end - request.start,
  };
}

function searchRequests() {
  return performance
    .getEntriesByType("resource")
    .filter((one) => /\/api\/r\/\d+\/search\?/.test(one.name))
    .map((one) => ({ start: one.startTime, end: one.responseEnd }));
}

function clearSearch() {
  const field = document.querySelector(".tl-search input");
  field.value = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.blur();
}
