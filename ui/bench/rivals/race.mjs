// Stepscope and its rivals with the same trace in the same browser, each in a browser of its own.

import path from "node:path";
import {
  clockOffset,
  countBytes,
  launch,
  openPage,
  pageHeap,
  pageProcess,
  warmUp,
  within,
} from "../browser.mjs";
import { epoch, freeMemory, say } from "../machine.mjs";
import { serveFiles, startStepscope } from "../servers.mjs";
import { watchCanvases } from "./drawn.mjs";
import { TOOLS } from "./tools.mjs";

const LOOK_MS = 250;
/** With less memory left, a tool is stopped before the machine is. */
const SPARE_MEMORY = 2e9;
const PATIENCE_MS = 10_000;
/** A tool that is this quick runs more than once. */
const QUICK_MS = 15_000;
const QUICK_RUNS = 3;

/** One entry for Stepscope and for each rival chosen; of several runs the one with the median time. */
export async function race(options, trace) {
  const runs = [() => runStepscope(options, trace)];
  for (const tool of options.rivals.flatMap((name) => TOOLS[name]))
    runs.push(() => runTool(options, trace, tool));
  const entries = [];
  for (const run of runs) entries.push(await several(run));
  return entries;
}

async function several(run) {
  const all = [await run()];
  while (all.length < QUICK_RUNS && all.every((one) => one.firstMs < QUICK_MS)) all.push(await run());
  all.sort((a, b) => (a.firstMs ?? Number.POSITIVE_INFINITY) - (b.firstMs ?? Number.POSITIVE_INFINITY));
  return { ...all[Math.floor((all.length - 1) / 2)], runs: all.map((one) => one.firstMs ?? null) };
}

async function runStepscope(options, trace) {
  say(`${trace.name}: stepscope view, by its pixels`);
  const start = async () => {
    const server = await startStepscope(options, trace.path);
    return { url: `${server.url}#/timeline`, since: server.spawnedAt, stop: server.stop };
  };
  const name = `${trace.name}-stepscope`;
  return {
    id: "stepscope",
    title: "stepscope view",
    ...(await drawnIn(options, { name, start, failed: () => "" })),
  };
}

async function runTool(options, trace, tool) {
  let ready;
  let file;
  try {
    ready = tool.prepare();
    file = await tool.traceFor(trace);
  } catch (error) {
    return { id: tool.id, title: tool.title, why: `not to be had: ${error.message}` };
  }
  const title = ready.title ?? tool.title;
  say(`${trace.name}: ${title}`);
  const name = file.endsWith(".gz") ? "/trace.json.gz" : "/trace.json";
  const start = async () => {
    const server = await serveFiles(options.port, { ...ready.places, [name]: file });
    return { url: ready.page(server.origin, name), since: undefined, stop: server.stop };
  };
  const shot = `${trace.name}-${tool.id}`;
  return { id: tool.id, title, ...(await drawnIn(options, { name: shot, start, failed: tool.failed })) };
}

/** Opens the page and waits until it has drawn, failed, crashed or used up its time. */
async function drawnIn(options, { name, start, failed }) {
  const { browser, close } = await launch(options);
  await warmUp(browser);
  const { page, cdp } = await openPage(browser, watchCanvases);
  const received = await countBytes(cdp);
  const told = { crash: false, words: "" };
  page.on("crash", () => {
    told.crash = true;
  });
  page.on("console", (message) => {
    const text = message.text();
    if (/error|fail|exceed|memory/i.test(text) && !/^Failed to load resource/.test(text))
      told.words = firstWords(text);
  });
  page.on("pageerror", (error) => {
    told.words = firstWords(String(error));
  });
  const served = await start();
  const since = served.since ?? epoch();
  const state = { peak: 0 };
  try {
    await page.goto(served.url, { timeout: options.timeoutMs, waitUntil: "commit" });
    const why = await waitFor(options, { browser, page, failed, told, state, since });
    await shoot(options, page, name);
    if (why) return { why, words: told.words, peakRss: state.peak };
    const at = await within(
      PATIENCE_MS,
      page.evaluate(() => window.rivalBench.at),
      "its clock",
    );
    const firstMs = at - (await within(PATIENCE_MS, clockOffset(page), "its clock")) - since;
    const wire = received();
    const heap = await within(PATIENCE_MS, pageHeap(cdp), "its heap").catch(() => undefined);
    const process = await pageProcess(browser);
    return { firstMs, heap, process, peakRss: process.peakRss ?? state.peak, bytes: wire.bytes };
  } catch (error) {
    const crashed = told.crash || /crash/i.test(error.message);
    return { why: crashed ? "the page crashed" : error.message.split("\n")[0], peakRss: state.peak };
  } finally {
    await within(PATIENCE_MS, close(), "closing the browser").catch(() => {});
    await served.stop();
  }
}

async function shoot(options, page, name) {
  if (!options.shots) return;
  const picture = page.screenshot({ path: path.join(options.shots, `${name}.png`) });
  await within(PATIENCE_MS, picture, "a picture").catch((error) => say(error.message));
}

/** A message without the places in the code, which say nothing to others. */
function firstWords(text) {
  return text
    .split(/\n|\s+at\s+https?:/)[0]
    .trim()
    .slice(0, 160);
}

/** Nothing when it has drawn; else why not. */
async function waitFor(options, { browser, page, failed, told, state, since }) {
  for (;;) {
    const left = since + options.timeoutMs - epoch();
    if (told.crash) return "the page crashed";
    if (left <= 0) return `did not load within ${options.timeoutMs / 1000} s`;
    state.peak = Math.max(state.peak, (await pageProcess(browser)).peakRss ?? 0);
    if (freeMemory() < SPARE_MEMORY) return "stopped: the machine's memory was used up";
    const slow = new Promise((resolve) => setTimeout(resolve, Math.min(left, 1000), "busy").unref());
    // A page that is busy answers late; the question is asked again then.
    const drawn = await Promise.race([
      page.evaluate(() => window.rivalBench?.at !== undefined).catch(() => false),
      slow,
    ]);
    if (drawn === true) return undefined;
    if (drawn === false) {
      const words = await Promise.race([page.evaluate(failed).catch(() => ""), slow]);
      if (words && words !== "busy") return `failed: ${words.split("\n").join(" ").slice(0, 120)}`;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
