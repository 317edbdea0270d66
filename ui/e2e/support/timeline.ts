// Where things lie on the timeline, so that tests can point at them.

import type { Locator, Page } from "@playwright/test";
import type { Layout, Ref } from "../../src/data/types.ts";
import { ROW_HEIGHT, rowTop } from "../../src/views/timeline/lane-layout.ts";
import type { FrameStats } from "../../src/views/timeline/stats.ts";
import { idle, params } from "./fixtures.ts";

export async function stats(page: Page): Promise<FrameStats> {
  await idle(page);
  return page.evaluate(() => {
    if (!window.stepscopeStats) throw new Error("no frame was drawn");
    return { ...window.stepscopeStats, rows: [...window.stepscopeStats.rows] };
  });
}

declare global {
  interface Window {
    /** Resolves when a held key was let go. */
    stepscopeReleased: Promise<void>;
  }
}

/** Holds a key for so many frames: those that a timeline drew, else the browser's. The page itself lets go of it: a late message from here must not make it longer. */
export async function hold(page: Page, code: string, frames: number): Promise<void> {
  await idle(page);
  await page.evaluate(
    ([code, frames]) => {
      let seen = 0;
      const drawn = () => window.stepscopeStats?.frames ?? seen;
      window.stepscopeReleased = new Promise((done) => {
        const onDown = () => {
          const until = drawn() + frames;
          const look = () => {
            seen++;
            if (drawn() < until) return requestAnimationFrame(look);
            dispatchEvent(new KeyboardEvent("keyup", { code }));
            return done();
          };
          look();
        };
        addEventListener("keydown", onDown, { once: true });
      });
    },
    [code, frames] as const,
  );
  await page.keyboard.down(code);
  await page.evaluate(() => window.stepscopeReleased);
  await page.keyboard.up(code);
  await idle(page);
}

/** The name of a group's lane. */
export function laneOf(page: Page, layout: Layout, group: number): Locator {
  const { label, detail } = layout.groups[group] ?? { label: "", detail: "" };
  const starts = [label, detail].filter(Boolean).join(", ");
  return page.locator(`[role=treeitem][aria-label^="${starts}"]`).first();
}

/** The place of a moment in a row, in the page. */
export async function placeOf(
  page: Page,
  layout: Layout,
  row: number,
  time: number,
): Promise<{ x: number; y: number }> {
  const at = layout.rows[row];
  const group = at && layout.groups[at.group];
  if (!group) throw new Error(`there is no row ${row}`);
  const lane = await laneOf(page, layout, group.id).boundingBox();
  const tracks = await page.locator(".tl-tracks").boundingBox();
  if (!lane || !tracks) throw new Error(`the lane of row ${row} is out of sight`);
  const { from, to } = windowIn(page, layout);
  return {
    x: tracks.x + ((time - from) / (to - from)) * tracks.width,
    y: lane.y + rowTop(group.rows.indexOf(row)) + ROW_HEIGHT / 2,
  };
}

/** The window that the address names; all slices with one hundredth of air if it names none. */
export function windowIn(page: Page, layout: Layout): { from: number; to: number } {
  const { from, to } = params(page);
  if (from !== undefined && to !== undefined) return { from: Number(from), to: Number(to) };
  const [first, last] = layout.work_ns;
  const air = (last - first) / 100;
  return { from: Math.max(first - air, -layout.extent_ns / 100), to: last + air };
}

/** Parameters of an address that shows a slice in the middle third of the window. */
export function around(ref: Pick<Ref, "start_ns" | "dur_ns">): { from: number; to: number } {
  return { from: ref.start_ns - ref.dur_ns, to: ref.start_ns + 2 * ref.dur_ns };
}
