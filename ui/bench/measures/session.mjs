// One long look at a trace: pan and zoom, clicks, searches, an area, all views; then what the page holds.

import { openPage, pageHeap, pageProcess, within } from "../browser.mjs";
import { processMemory, say } from "../machine.mjs";
import { startStepscope } from "../servers.mjs";
import { timeClicks } from "./click.mjs";
import { measureMotion } from "./motion.mjs";
import { SEARCHES, timeSearch } from "./search.mjs";
import { selectArea, visitViews } from "./tour.mjs";
import { firstSeen, still, watchPage } from "./watch.mjs";

const PATIENCE_MS = 180_000;
const CLICKS = 20;
const SAMPLE_MS = 500;

export async function session(options, browser, trace) {
  const { page, cdp, close } = await openPage(browser, watchPage, "slices");
  const server = await startStepscope(options, trace.path);
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  try {
    await page.goto(`${server.url}#/timeline`);
    await within(PATIENCE_MS, page.evaluate(firstSeen), `the timeline of ${trace.name}`);
    await within(PATIENCE_MS, page.evaluate(still), `the timeline of ${trace.name} at rest`);
    const ledger = await page.evaluate(layoutLedger);
    say(`${trace.name}: pan and zoom`);
    const motion = await measureMotion(page);
    say(`${trace.name}: clicks`);
    const clicks = await timeClicks(page, CLICKS);
    say(`${trace.name}: searches`);
    const searches = [];
    for (const text of SEARCHES) searches.push(await timeSearch(page, text));
    say(`${trace.name}: an area, all views, pan and zoom again`);
    const tour = await watched(browser, async () => {
      const area = await selectArea(page, PATIENCE_MS);
      const views = await visitViews(page, PATIENCE_MS);
      await measureMotion(page);
      return { area, views };
    });
    const memory = await rest(browser, cdp, page);
    return {
      ledger,
      motion,
      clicks,
      searches,
      ...tour.result,
      memory: { ...memory, peak: Math.max(tour.peak, memory.peak) },
      server: processMemory(server.pid),
      problems,
    };
  } catch (error) {
    throw server.explain(error);
  } finally {
    await close();
    await server.stop();
  }
}

/** What the page holds when it is still and its garbage is collected, and held before. */
async function rest(browser, cdp, page) {
  await page.evaluate(still);
  const littered = await pageProcess(browser);
  const before = await pageHeap(cdp);
  await cdp.send("HeapProfiler.collectGarbage");
  // What was freed goes back to the system a moment later.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return { process: await pageProcess(browser), peak: littered.bytes ?? 0, before, heap: await pageHeap(cdp) };
}

/** Samples the page's process while `work` goes on. Never while something is timed: the kernel stops it to count. */
async function watched(browser, work) {
  let peak = 0;
  let sampling = Promise.resolve();
  const timer = setInterval(() => {
    sampling = sampling.then(async () => {
      peak = Math.max(peak, (await pageProcess(browser)).bytes ?? 0);
    });
  }, SAMPLE_MS);
  try {
    return { result: await work(), peak };
  } finally {
    clearInterval(timer);
    await sampling;
  }
}

/** What the trace holds and what of it is drawn, as the server counts it. */
async function layoutLedger() {
  const { runs } = await (await fetch("api/runs")).json();
  const layout = await (await fetch(`api/r/${runs[0].id}/timeline`)).json();
  return { ...layout.ledger, rows: layout.rows.length, extent_ns: layout.extent_ns };
}
