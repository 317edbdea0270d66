// Lines behind the slices: round times, and where training steps begin. Pure.

import type { StepInfo } from "../../data/types.ts";
import { pack, parseColor } from "../../draw/color.ts";
import type { DrawList } from "../../draw/list.ts";
import type { Palette } from "../../draw/palette.ts";
import { ticksFor } from "./ruler.ts";
import type { Screen } from "./screen.ts";

const MAX_LINES = 200;
/** Steps narrower than this have no lines. */
const MIN_STEP_PX = 24;
const TICK_ALPHA = 150;
const STEP_ALPHA = 120;

/** Adds the lines between two heights; round times count from `origin`. */
export function gridLines(
  list: DrawList,
  screen: Screen,
  steps: readonly StepInfo[],
  palette: Palette,
  top: number,
  bottom: number,
  origin = 0,
): void {
  const { view, width } = screen;
  const { step, first } = ticksFor(view.from - origin, view.to - origin, width);
  const line = ((TICK_ALPHA << 24) | pack(parseColor(palette.css.line))) >>> 0;
  for (let n = 0; n < MAX_LINES && first + n * step <= view.to - origin; n++) {
    const x = Math.round(screen.x(origin + first + n * step));
    list.solid(x, x + 1, top, bottom, line);
  }
  const one = steps[0];
  if (!one || (one.end_ns - one.start_ns) / screen.nsPerPixel < MIN_STEP_PX) return;
  const accent = ((STEP_ALPHA << 24) | pack(parseColor(palette.css.accent))) >>> 0;
  for (const { start_ns } of steps) {
    const x = Math.round(screen.x(start_ns));
    if (x >= 0 && x < width) list.solid(x, x + 1, top, bottom, accent);
  }
}
