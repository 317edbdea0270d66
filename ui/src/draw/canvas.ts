// Strips without a GPU: written into an image of our own. A flat strip is worked out once and copied down its height.

import type { Rgb } from "./color.ts";
import { AREA, type DrawList, SOLID, STRIPES, type Strip } from "./list.ts";
import type { Painter } from "./painter.ts";
import { resize } from "./painter.ts";

/** An image, one word 0xAABBGGRR a pixel. */
export interface Image {
  width: number;
  height: number;
  pixels: Uint32Array;
}

const STRIPE_EVERY = 6;
const STRIPE_WIDE = 2;
/** Of 254, as opacities are. */
const STRIPE_SHADE = 183;
/** Opacities of an area: below its lower height, below its higher, at its edge. As in the shader. */
const LOWER_OPACITY = 0.38;
const UPPER_OPACITY = 0.19;
const EDGE_OPACITY = 0.9;

/** Paints the list over a plain ground. */
export function raster(list: DrawList, image: Image, ground: Rgb): void {
  image.pixels.fill(opaque(ground.r, ground.g, ground.b));
  for (let i = 0; i < list.n; i++) {
    const strip = list.strips[i]!;
    const cells = list.cells.subarray(i * list.width, (i + 1) * list.width);
    const first = Math.max(0, Math.round(Math.max(strip.top, strip.from) * list.ratio));
    const last = Math.min(image.height, Math.round(Math.min(strip.top + strip.height, strip.to) * list.ratio));
    if (last <= first) continue;
    if (strip.kind === SOLID) solid(image, list.ratio, strip, first, last);
    else if (strip.kind === AREA) area(cells, image, list.ratio, strip, first, last);
    else flat(cells, image, list.ratio, strip.striped, first, last);
  }
}

/** Whether a stripe runs through a pixel; counted from the bottom, as the GPU does. */
function striped(x: number, y: number, image: Image, ratio: number): boolean {
  const across = Math.floor(x / ratio) + Math.floor((image.height - 1 - y) / ratio);
  return across % STRIPE_EVERY < STRIPE_WIDE;
}

function flat(
  cells: Uint32Array,
  image: Image,
  ratio: number,
  stripes: boolean,
  first: number,
  last: number,
): void {
  const { width, pixels } = image;
  // Lines repeat: at once where nothing is striped, else after as many as stripes are apart.
  const period = stripes ? Math.max(1, Math.round(STRIPE_EVERY * ratio)) : 1;
  for (let y = first; y < last; y++) {
    const line = y * width;
    if (y - first >= period) {
      pixels.copyWithin(line, line - period * width, line - period * width + width);
      continue;
    }
    for (let x = 0; x < Math.min(width, cells.length); x++) {
      const cell = cells[x]!;
      if (cell === 0) continue;
      const dark = stripes && (cell & STRIPES) !== 0 && striped(x, y, image, ratio);
      pixels[line + x] = over(pixels[line + x]!, cell, dark);
    }
  }
}

/** A weighted color over another, in whole numbers: this is done for every pixel. */
function over(under: number, cell: number, dark: boolean): number {
  const opacity = (cell >>> 24) & 0xfe;
  if (opacity === 0xfe && !dark) return (cell | 0xff000000) >>> 0;
  const rest = 254 - opacity;
  const shade = dark ? STRIPE_SHADE : 254;
  const r = ((cell & 255) * shade + (under & 255) * rest + 127) / 254;
  const g = (((cell >>> 8) & 255) * shade + ((under >>> 8) & 255) * rest + 127) / 254;
  const b = (((cell >>> 16) & 255) * shade + ((under >>> 16) & 255) * rest + 127) / 254;
  return opaque(Math.min(r, 255), Math.min(g, 255), Math.min(b, 255));
}

function solid(image: Image, ratio: number, strip: Strip, first: number, last: number): void {
  const left = Math.max(0, Math.round(strip.left * ratio));
  const right = Math.min(image.width, Math.round(strip.right * ratio));
  const alpha = (strip.color >>> 24) / 255;
  for (let y = first; y < last; y++)
    for (let at = y * image.width + left; at < y * image.width + right; at++)
      image.pixels[at] = blend(image.pixels[at]!, strip.color, alpha);
}

function area(
  cells: Uint32Array,
  image: Image,
  ratio: number,
  strip: Strip,
  first: number,
  last: number,
): void {
  const bottom = strip.top + strip.height;
  for (let x = 0; x < Math.min(image.width, cells.length); x++) {
    const low = ((cells[x]! & 0xffff) / 0xffff) * strip.height;
    const high = ((cells[x]! >>> 16) / 0xffff) * strip.height;
    if (high === 0) continue;
    for (let y = first; y < last; y++) {
      const up = bottom - (y + 0.5) / ratio;
      if (up >= high) continue;
      const alpha = up >= high - 1 ? EDGE_OPACITY : up < low ? LOWER_OPACITY : UPPER_OPACITY;
      const at = y * image.width + x;
      image.pixels[at] = blend(image.pixels[at]!, strip.color, alpha);
    }
  }
}

function blend(under: number, color: number, alpha: number): number {
  const rest = 1 - alpha;
  const r = (under & 255) * rest + (color & 255) * alpha + 0.5;
  const g = ((under >>> 8) & 255) * rest + ((color >>> 8) & 255) * alpha + 0.5;
  const b = ((under >>> 16) & 255) * rest + ((color >>> 16) & 255) * alpha + 0.5;
  return opaque(r, g, b);
}

function opaque(r: number, g: number, b: number): number {
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

export class CanvasPainter implements Painter {
  readonly kind = "canvas2d";
  readonly canvas = document.createElement("canvas");
  readonly #context = this.canvas.getContext("2d", { alpha: false });
  #data: ImageData | undefined;
  #image: Image | undefined;

  paint(list: DrawList, width: number, height: number, ratio: number, ground: Rgb): number {
    resize(this.canvas, width, height, ratio);
    if (!this.#image || this.#image.width !== this.canvas.width || this.#image.height !== this.canvas.height) {
      this.#data = new ImageData(this.canvas.width, this.canvas.height);
      const pixels = new Uint32Array(this.#data.data.buffer);
      this.#image = { width: this.canvas.width, height: this.canvas.height, pixels };
    }
    raster(list, this.#image, ground);
    if (this.#data) this.#context?.putImageData(this.#data, 0, 0);
    return 1;
  }

  close(): void {
    this.#image = undefined;
    this.#data = undefined;
  }
}
