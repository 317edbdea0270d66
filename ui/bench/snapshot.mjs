// Opens a memory snapshot in the browser and zooms into it: how long until it is drawn, and how long frames take meanwhile.
//
//   python scripts/bench/large_snapshot.py --events 1000000 target/large.pickle
//   STEPSCOPE_BIN=target/release/stepscope node ui/bench/snapshot.mjs target/large.pickle

import { existsSync } from "node:fs";
import { launch, openPage, pageHeap, warmUp } from "./browser.mjs";
import { endAll } from "./ending.mjs";
import { epoch, processMemory } from "./machine.mjs";
import { startStepscope } from "./servers.mjs";

const HELD = [
  ["w", 1500],
  ["d", 600],
  ["a", 600],
  ["s", 1500],
];

async function main([file]) {
  if (!file || !existsSync(file)) throw new Error("name a snapshot: node ui/bench/snapshot.mjs FILE");
  const options = {
    bin: process.env.STEPSCOPE_BIN ?? "target/release/stepscope",
    uiDir: process.env.STEPSCOPE_UI_DIR,
    chromium: process.env.CHROMIUM ?? "/usr/bin/chromium",
    angle: process.env.ANGLE,
    port: 8900,
  };
  const { browser } = await launch(options);
  await warmUp(browser);
  const server = await startStepscope(options, file);
  const { page, cdp } = await openPage(browser);
  await page.goto(`${server.url}#/memory`);
  const drawn = () =>
    (document.querySelector(".snap-chart")?.board?.frames.length ?? 0) > 0 &&
    document.querySelector(".snap-notes")?.textContent.trim();
  await page.waitForFunction(drawn, undefined, { timeout: 120_000 });
  const drawnMs = epoch() - server.spawnedAt;
  await page.evaluate(() => window.stepscopeIdle());
  const completeMs = epoch() - server.spawnedAt;
  const box = await page.locator(".snap-chart").boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.7);
  await page.evaluate(() => {
    const between = [];
    let last = performance.now();
    const tick = (now) => {
      between.push(now - last);
      last = now;
      globalThis.measuring = requestAnimationFrame(tick);
    };
    globalThis.measuring = requestAnimationFrame(tick);
    globalThis.between = between;
    document.querySelector(".snap-chart").board.frames.length = 0;
  });
  for (const [key, ms] of HELD) {
    await page.keyboard.down(key);
    await new Promise((resolve) => setTimeout(resolve, ms));
    await page.keyboard.up(key);
  }
  const { between, own } = await page.evaluate(() => {
    cancelAnimationFrame(globalThis.measuring);
    return { between: globalThis.between, own: document.querySelector(".snap-chart").board.frames };
  });
  const asked = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter((one) => one.name.includes("memory/picture"))
      .map((one) => [one.duration, one.transferSize]),
  );
  const heap = await pageHeap(cdp);
  const rows = {
    "from start to drawn": ms(drawnMs),
    "and everything below it": ms(completeMs),
    "frames while zooming": `${between.length}, median ${ms(middle(between, 0.5))}, p95 ${ms(middle(between, 0.95))}`,
    "own work per frame": `median ${ms(middle(own, 0.5))}, p95 ${ms(middle(own, 0.95))}`,
    "pictures asked for": `${asked.length}, median ${ms(
      middle(
        asked.map(([took]) => took),
        0.5,
      ),
    )}, largest ${Math.round(Math.max(...asked.map(([, size]) => size)) / 1024)} KiB`,
    "memory of the server": `${Math.round((processMemory(server.pid).bytes ?? 0) / 2 ** 20)} MiB`,
    "script heap of the page": `${Math.round(heap.scriptBytes / 2 ** 20)} MiB`,
  };
  for (const [name, value] of Object.entries(rows)) console.log(`${name.padEnd(28)}${value}`);
}

function ms(value) {
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(1)} ms`;
}

function middle(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

try {
  await main(process.argv.slice(2));
} finally {
  await endAll();
}
