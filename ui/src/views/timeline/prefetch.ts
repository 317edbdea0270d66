// Which tiles the next moves will need: beside the window, one level above, and of rows just out of sight.

import type { Wanted } from "../../data/tile-store.ts";
import { levelFor } from "../../data/tiles.ts";
import { ROW_GAP, ROW_HEIGHT } from "./lane-layout.ts";
import type { Model } from "./model.ts";
import type { Screen } from "./screen.ts";
import { lookAhead, wantWhole } from "./tile-cover.ts";

export function prefetch(model: Model, screen: Screen, drawn: readonly number[], ahead: Wanted): void {
  const { view } = screen;
  const level = levelFor(screen.nsPerPixel, model.top);
  for (const row of drawn) {
    const range = model.layout.rows[row];
    if (range) lookAhead(model.tiles.cache, range, level, model.top, view.from, view.to, ahead);
  }
  wantBeyond(model, screen, ahead);
}

/** Rows one screen above and below: scrolling finds something there at once. */
function wantBeyond(model: Model, screen: Screen, ahead: Wanted): void {
  const pitch = ROW_HEIGHT + ROW_GAP;
  for (const lane of screen.laneLayout.lanes) {
    const top = screen.laneTop(lane);
    if (top > 2 * screen.height) break;
    if (top + lane.height < -screen.height) continue;
    const first = Math.max(0, Math.floor((-screen.height - top) / pitch));
    const last = Math.min(lane.rows.length, Math.ceil((2 * screen.height - top) / pitch));
    for (let at = first; at < last; at++) {
      const range = model.layout.rows[lane.rows[at]!];
      if (range) wantWhole(model.tiles.cache, range, model.top, ahead);
    }
  }
}
