// The colours of slices: hue by category, shade by name. Read from tokens.css, again when the theme changes.

import { CATEGORIES } from "../data/categories.ts";
import { SHADES } from "../data/namestore.ts";
import { contrast, mix, pack, parseColour, type Rgb, unpack } from "./colour.ts";

const WHITE: Rgb = { r: 255, g: 255, b: 255 };
const BLACK: Rgb = { r: 0, g: 0, b: 0 };
/** How far the outermost shades lie from the category's colour. */
const SPREAD = 0.2;
/** Steps of opacity for which text colours are known. */
const FILLS = 8;

export interface Palette {
  /** By category and shade: 0x00BBGGRR. */
  slices: Uint32Array;
  ground: Rgb;
  /** By category, shade and step of opacity: 1 where dark text reads better. */
  darkText: Uint8Array;
  css: Record<Ink, string>;
}

/** The other colours of the drawing, by their variable. */
export const INKS = [
  "surface",
  "sunken",
  "line",
  "text",
  "quiet",
  "accent",
  "accent-soft",
  "select",
  "area",
  "bad",
  "warn",
  "good",
  "ink-dark",
  "ink-light",
] as const;
export type Ink = (typeof INKS)[number];

/** Makes the palette; `read` gives the value of a CSS variable. */
export function makePalette(read: (variable: string) => string): Palette {
  const ground = parseColour(read("--surface"));
  const slices = new Uint32Array(CATEGORIES.length * SHADES);
  const darkText = new Uint8Array(CATEGORIES.length * SHADES * FILLS);
  for (let category = 0; category < CATEGORIES.length; category++) {
    const base = parseColour(read(`--cat-${category}`));
    for (let shade = 0; shade < SHADES; shade++) {
      const at = category * SHADES + shade;
      const way = (2 * shade) / (SHADES - 1) - 1;
      const colour = mix(base, way > 0 ? WHITE : BLACK, Math.abs(way) * SPREAD);
      slices[at] = pack(colour);
      for (let fill = 0; fill < FILLS; fill++) {
        const seen = mix(ground, unpack(slices[at]!), (fill + 1) / FILLS);
        darkText[at * FILLS + fill] = contrast(seen, BLACK) >= contrast(seen, WHITE) ? 1 : 0;
      }
    }
  }
  const css = Object.fromEntries(INKS.map((ink) => [ink, read(`--${ink}`)])) as Record<Ink, string>;
  return { slices, ground, darkText, css };
}

export function slot(category: number, shade: number): number {
  return Math.min(category, CATEGORIES.length - 1) * SHADES + shade;
}

/** Whether dark text reads better on this colour at this opacity (0 to 255). */
export function wantsDarkText(palette: Palette, at: number, alpha: number): boolean {
  return palette.darkText[at * FILLS + Math.min(FILLS - 1, alpha >> 5)] === 1;
}

/** The palette of the page as it is now. */
export function pagePalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  return makePalette((variable) => style.getPropertyValue(variable));
}
