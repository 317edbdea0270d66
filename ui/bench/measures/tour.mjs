// The rest of what a user does: an area over the whole trace, every view.

import { within } from "../browser.mjs";
import { armTimer, still, stillAt, takeTimer } from "./watch.mjs";

const AREA_RULER_PX = 10;

/** Drags over the ruler, so that all rows of the whole trace are in; milliseconds from letting go to the table. */
export async function selectArea(page, patienceMs) {
  await page.keyboard.press("Digit0");
  await page.evaluate(still);
  const box = await page.locator('[data-part="tracks"]').boundingBox();
  const y = box.y + AREA_RULER_PX;
  await page.mouse.move(box.x + 2, y);
  await page.mouse.down();
  await page.evaluate(armTimer, { event: "pointerup", selector: ".tl-area h2", pattern: "selected" });
  // One move: an area at rest while it is dragged would be asked about before the button is let go.
  await page.mouse.move(box.x + box.width - 2, y);
  await page.mouse.up();
  const { began, ended } = await within(patienceMs, page.evaluate(takeTimer), "an area");
  await page.evaluate(still);
  const text = await page.locator(".tl-area .tl-title .quiet").textContent();
  await page.keyboard.press("Escape");
  await page.evaluate(still);
  return { ms: ended - began, text };
}

/** Every view in the order of the navigation, then the timeline again; milliseconds until each is at rest. */
export async function visitViews(page, patienceMs) {
  const names = await page
    .locator("nav a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  const views = names.map((href) => href.replace(/^#\//, "").split("?")[0]);
  const times = {};
  for (const view of [...views, "timeline"]) {
    const began = await page.evaluate(goTo, view);
    const ended = await within(patienceMs, page.evaluate(stillAt), `the view ${view}`);
    times[view] ??= ended - began;
  }
  return times;
}

async function goTo(view) {
  const now = performance.timeOrigin + performance.now();
  location.hash = `#/${view}`;
  // The page renders after the event that the address has changed.
  await new Promise((resolve) =>
    addEventListener("hashchange", () => requestAnimationFrame(resolve), { once: true }),
  );
  return now;
}
