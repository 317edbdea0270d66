// Paints a list of rectangles, with the GPU where there is one.

import { CanvasPainter } from "./canvas.ts";
import type { Rgb } from "./colour.ts";
import { GlPainter } from "./gl.ts";
import type { DrawList } from "./list.ts";

export interface Painter {
  readonly kind: "webgl2" | "canvas2d";
  readonly canvas: HTMLCanvasElement;
  /** Paints all of it; returns how many draw calls that took. Sizes in CSS pixels. */
  paint(list: DrawList, width: number, height: number, ratio: number, ground: Rgb): number;
  close(): void;
}

/** The best painter there is; `lost` is called when it stops working and another must take its place. */
export function makePainter(gpu: boolean, lost: () => void): Painter {
  const painter = gpu ? GlPainter.make(lost) : undefined;
  return painter ?? new CanvasPainter();
}
