// What paints a list of rectangles, whatever it paints with.

import type { Rgb } from "./color.ts";
import type { DrawList } from "./list.ts";

export interface Painter {
  readonly kind: "webgl2" | "canvas2d";
  readonly canvas: HTMLCanvasElement;
  /** Paints all of it; returns how many draw calls that took. Sizes in CSS pixels. */
  paint(list: DrawList, width: number, height: number, ratio: number, ground: Rgb): number;
  close(): void;
}

/** Gives a canvas the pixels its size on the screen needs. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
}
