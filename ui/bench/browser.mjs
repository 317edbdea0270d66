// The browser: started as users have it, with nothing kept from one page to the next.

import { chromium } from "@playwright/test";
import { whenDone } from "./ending.mjs";
import { epoch, processMemory } from "./machine.mjs";

const VIEWPORT = { width: 1440, height: 900 };

export async function launch(options) {
  const angle = options.angle ? [`--use-angle=${options.angle}`, "--ignore-gpu-blocklist"] : [];
  if (options.angle === "swiftshader") angle.push("--enable-unsafe-swiftshader");
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({
    ...(options.chromium ? { executablePath: options.chromium } : {}),
    args: [...root, ...angle],
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  return { browser, close: whenDone(() => browser.close()) };
}

/** A page in a fresh context: no cache, no storage. `init` runs in it before anything else. */
export async function openPage(browser, init, argument) {
  const context = await browser.newContext({ viewport: VIEWPORT, reducedMotion: "no-preference" });
  const page = await context.newPage();
  if (init) await page.addInitScript(init, argument);
  const cdp = await context.newCDPSession(page);
  return { page, cdp, close: whenDone(() => context.close()) };
}

/** A browser just started loads fonts and its graphics with the first page; that page is not one of ours. */
export async function warmUp(browser) {
  const { page, close } = await openPage(browser);
  await page.setContent("<p>first</p><canvas></canvas>");
  await page.evaluate(async () => {
    document.querySelector("canvas").getContext("webgl2")?.clear(0x4000);
    document.createElement("canvas").getContext("2d").fillText("first", 0, 9);
    for (let i = 0; i < 10; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
  await close();
}

export async function browserFacts(options) {
  const { browser, close } = await launch(options);
  const { page } = await openPage(browser);
  const renderer = await page.evaluate(() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    const info = gl?.getExtension("WEBGL_debug_renderer_info");
    return gl ? gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER) : "no WebGL2";
  });
  const empty = await pageProcess(browser);
  const facts = { version: browser.version(), renderer, viewport: VIEWPORT, emptyPage: empty };
  await close();
  return facts;
}

/** The process of the one page that is open: of all renderers (one may be kept in reserve) the largest. */
export async function pageProcess(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const renderers = processInfo.filter((one) => one.type === "renderer").map((one) => processMemory(one.id));
  return renderers.sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))[0] ?? {};
}

/** What the page itself holds: its script heap, the buffers outside of it, its elements. */
export async function pageHeap(cdp) {
  await cdp.send("Performance.enable");
  const { metrics } = await cdp.send("Performance.getMetrics");
  const heap = await cdp.send("Runtime.getHeapUsage");
  const dom = await cdp.send("Memory.getDOMCounters");
  const used = metrics.find((one) => one.name === "JSHeapUsedSize")?.value ?? heap.usedSize;
  const outside = (heap.backingStorageSize ?? 0) + (heap.embedderHeapUsedSize ?? 0);
  return { scriptBytes: used, outsideBytes: outside, nodes: dom.nodes, listeners: dom.jsEventListeners };
}

/** How much the page's clock is ahead of ours. */
export async function clockOffset(page) {
  let best = { wait: Number.POSITIVE_INFINITY, offset: 0 };
  for (let i = 0; i < 5; i++) {
    const before = epoch();
    const there = await page.evaluate(() => performance.timeOrigin + performance.now());
    const after = epoch();
    if (after - before < best.wait) best = { wait: after - before, offset: there - (before + after) / 2 };
  }
  return best.offset;
}

/** Counts what comes over the wire; `read()` gives bytes and requests so far, headers included. */
export async function countBytes(cdp) {
  const kinds = new Map();
  const paths = new Map();
  cdp.on("Network.requestWillBeSent", ({ requestId, request }) => paths.set(requestId, kindOf(request.url)));
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const kind = paths.get(requestId) ?? "other";
    const sum = kinds.get(kind) ?? { bytes: 0, requests: 0 };
    kinds.set(kind, { bytes: sum.bytes + encodedDataLength, requests: sum.requests + 1 });
  });
  await cdp.send("Network.enable");
  return () => {
    const all = [...kinds.values()];
    return {
      bytes: all.reduce((sum, one) => sum + one.bytes, 0),
      requests: all.reduce((sum, one) => sum + one.requests, 0),
      kinds: Object.fromEntries(kinds),
    };
  };
}

function kindOf(url) {
  const { pathname } = new URL(url);
  return /\/api\/(?:r\/\d+\/)?(\w+)/.exec(pathname)?.[1] ?? (/\.(js|css)$/.exec(pathname)?.[1] || "page");
}

/** The promise, or an error after so long: a page may hang for ever. */
export function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
