// Panning and zooming with keys held and with the wheel, about six seconds: frames, draw calls, long tasks.

import { keepFrames, still, takeFrames } from "./watch.mjs";

/** Keys and how long each is held. */
const HELD = [
  ["KeyW", 1100],
  ["KeyD", 500],
  ["KeyA", 500],
  ["KeyW", 500],
  ["KeyS", 500],
];
/** A modifier, by how much the wheel turns each time, how often; each waits until the page has taken the one before. */
const WHEEL = [
  ["Control", -120, 24],
  ["Shift", 200, 16],
  [undefined, 160, 8],
  [undefined, -160, 8],
  ["Shift", -200, 16],
  ["Control", 120, 24],
];
const TICK_MS = 16;
/** On a busy machine a turn may take long: then there are fewer. */
const MAX_WHEEL_MS = 1000;

export async function measureMotion(page) {
  const box = await page.locator('[data-part="tracks"]').boundingBox();
  await page.mouse.move(box.x + box.width * 0.42, box.y + box.height * 0.4);
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("Digit0");
  await page.evaluate(still);
  await page.evaluate(keepFrames);
  for (const [key, ms] of HELD) {
    await page.keyboard.down(key);
    await pause(ms);
    await page.keyboard.up(key);
  }
  for (const [modifier, by, times] of WHEEL) {
    if (modifier) await page.keyboard.down(modifier);
    const until = performance.now() + MAX_WHEEL_MS;
    for (let i = 0; i < times && performance.now() < until; i++) {
      await page.mouse.wheel(0, by);
      await pause(TICK_MS);
    }
    if (modifier) await page.keyboard.up(modifier);
  }
  const { frames, longTasks, backend } = await page.evaluate(takeFrames);
  return { ...summary(frames), longTasks, backend };
}

/** Times between frames, and of the frames in which the timeline drew its calls and milliseconds. */
export function summary(frames) {
  const between = frames.slice(1).map(([now], i) => now - frames[i][0]);
  const drawn = frames.filter(([, count], i) => i > 0 && count > frames[i - 1][1]);
  return {
    seconds: frames.length > 1 ? (frames[frames.length - 1][0] - frames[0][0]) / 1000 : 0,
    between,
    drawnFrames: drawn.length,
    scriptMs: drawn.map(([, , , ms]) => ms),
    drawCalls: drawn.reduce((most, [, , calls]) => Math.max(most, calls), 0),
    quads: drawn.reduce((most, [, , , , quads]) => Math.max(most, quads), 0),
  };
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
