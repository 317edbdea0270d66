// Chooses what paints: the GPU where there is one.

import { CanvasPainter } from "./canvas.ts";
import { GlPainter } from "./gl.ts";
import type { Painter } from "./painter.ts";

/** The best painter there is; `lost` is called when it stops working and another must take its place. */
export function makePainter(gpu: boolean, lost: () => void): Painter {
  const painter = gpu ? GlPainter.make(lost) : undefined;
  return painter ?? new CanvasPainter();
}
