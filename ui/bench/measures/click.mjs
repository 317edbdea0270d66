// From a click on a slice until the pane with its name has been drawn.

import { within } from "../browser.mjs";
import { armTimer, still, takeTimer } from "./watch.mjs";

const PATIENCE_MS = 60_000;
const MAX_TRIES = 600;
/** After so many clicks the next step is looked at. */
const CLICKS_A_WINDOW = 5;

/** Milliseconds of `wanted` clicks, each on a slice found by pointing at the rows; each name is checked. */
export async function timeClicks(page, wanted) {
  const box = await page.locator('[data-part="tracks"]').boundingBox();
  const next = places(box);
  const found = [];
  await page.keyboard.press("Digit0");
  for (let tries = 0; tries < MAX_TRIES && found.length < wanted; tries++) {
    if (found.length % CLICKS_A_WINDOW === 0) await nextStep(page);
    const [x, y] = next();
    await page.mouse.move(x, y);
    if (!(await page.evaluate(slicePointedAt))) continue;
    found.push(await timeClick(page));
    await page.keyboard.press("Escape");
    await page.evaluate(still);
  }
  return found;
}

async function timeClick(page) {
  await page.evaluate(() => performance.clearResourceTimings());
  await page.evaluate(armTimer, { event: "pointerdown", selector: ".tl-slice h2", pattern: "\\S" });
  await page.mouse.down();
  await page.mouse.up();
  const { began, shown, ended, text } = await within(
    PATIENCE_MS,
    page.evaluate(takeTimer),
    "the details of a slice",
  );
  await page.evaluate(still);
  const name = await page.evaluate(nameOfSelection);
  if (name !== text) throw new Error(`the pane says ${text}, the slice is ${name}`);
  return { shownMs: shown - began, drawnMs: ended - began };
}

async function nextStep(page) {
  await page.keyboard.press("KeyN");
  await page.evaluate(still);
}

/** Places on the rows, the same in each run. */
function places(box) {
  let state = 12345;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return () => [box.x + (0.05 + 0.9 * random()) * box.width, box.y + (0.08 + 0.85 * random()) * box.height];
}

/** Whether a slice is framed under the pointer. */
async function slicePointedAt() {
  await new Promise((resolve) => requestAnimationFrame(resolve));
  return document.querySelector('[data-part="frame"]')?.hidden === false;
}

/** The name, from the server, of the slice that the page asked about. */
async function nameOfSelection() {
  const asked = performance
    .getEntriesByType("resource")
    .filter((one) => /\/api\/r\/\d+\/slice\/\d+$/.test(one.name));
  if (asked.length !== 1) throw new Error(`one click asked about ${asked.length} slices`);
  const details = await (await fetch(asked[0].name)).json();
  return details.name;
}
