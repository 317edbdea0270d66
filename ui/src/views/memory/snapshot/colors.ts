// Colors of allocations: one per line of the program, the same in every file, or by size.

import { mix, pack, type Rgb } from "../../../draw/color.ts";
import type { Picture } from "./picture.ts";

export type ColorBy = "line" | "size";

const OPAQUE_BITS = 0xff000000;
/** Sizes at the ends of the scale, as powers of two: 4 KiB and 4 GiB. */
const MIN_SIZE_LOG2 = 12;
const MAX_SIZE_LOG2 = 32;
/** Lines beyond those that are named. */
const OTHER: Rgb = { r: 140, g: 146, b: 155 };

/** From OKLCH, in which equal steps look equal, to what a screen shows. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const part = (linear: number) => {
    const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.max(0, Math.min(1, value)));
  };
  return {
    r: part(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    g: part(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    b: part(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  };
}

/** The color of a line by the number that its text gives it: hue and lightness. */
export function lineColor(hash: number, dark: boolean): Rgb {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  const hue = (mixed % 24) * 15;
  const level = (mixed >>> 8) % 3;
  return dark
    ? oklch(0.5 + 0.08 * level, 0.1 + 0.015 * level, hue)
    : oklch(0.62 + 0.09 * level, 0.13 - 0.02 * level, hue);
}

/** The color of a size: the larger, the stronger. */
export function sizeColor(bytes: number, dark: boolean): Rgb {
  const power = Math.log2(Math.max(1, bytes));
  const share = Math.max(0, Math.min(1, (power - MIN_SIZE_LOG2) / (MAX_SIZE_LOG2 - MIN_SIZE_LOG2)));
  const hue = 250 - 220 * share;
  return dark
    ? oklch(0.42 + 0.24 * share, 0.05 + 0.1 * share, hue)
    : oklch(0.86 - 0.28 * share, 0.05 + 0.12 * share, hue);
}

export interface Look {
  by: ColorBy;
  dark: boolean;
  ground: Rgb;
  /** The allocation that sticks out, and the line that does. */
  id: number | undefined;
  place: number | undefined;
}

/** By drawn allocation: its color and that of its edge, as pixels have them. */
export function drawnColors(picture: Picture, look: Look): { colors: Uint32Array; edges: Uint32Array } {
  const { drawn, places } = picture.head;
  const colors = new Uint32Array(drawn);
  const edges = new Uint32Array(drawn);
  const ofPlace = places.map(({ place }) => lineColor(place.hash, look.dark));
  const chosen = look.id === undefined ? -1 : picture.id.indexOf(look.id);
  for (let i = 0; i < drawn; i++) {
    const own =
      look.by === "size" ? sizeColor(picture.bytes[i]!, look.dark) : (ofPlace[picture.place[i]!] ?? OTHER);
    const faded =
      (chosen >= 0 && i !== chosen) || (look.place !== undefined && picture.place[i] !== look.place);
    const color = faded ? mix(own, look.ground, 0.62) : own;
    colors[i] = (pack(color) | OPAQUE_BITS) >>> 0;
    edges[i] = (pack(mix(color, look.ground, 0.45)) | OPAQUE_BITS) >>> 0;
  }
  return { colors, edges };
}

export function css({ r, g, b }: Rgb): string {
  return `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;
}
