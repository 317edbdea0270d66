// The colors of slices: hue by category, shade by name. Read from tokens.css, again when the theme changes.

import { SHADE_COUNT } from "../data/name-store.ts";
import { CATEGORIES } from "../data/wire.ts";
import { contrast, mix, pack, parseColor, type Rgb, unpack } from "./color.ts";
import { flatCell } from "./list.ts";

const WHITE: Rgb = { r: 255, g: 255, b: 255 };
const BLACK: Rgb = { r: 0, g: 0, b: 0 };
/** How far the outermost shades lie from the category's color. */
const MAX_MIX_SHARE = 0.2;
/** Steps of opacity for which text colors are known. */
const FILL_STEPS = 8;
/** Steps of opacity for which cells are made beforehand. */
const OPACITY_STEPS = 64;
/** Categories whose slices are striped: waits and communication. */
const STRIPED: ReadonlySet<number> = new Set([4, 9]);

export interface Palette {
  /** By category and shade: 0x00BBGGRR. */
  slices: Uint32Array;
  /** By category, shade and step of opacity: ready to be filled in. */
  cells: Uint32Array;
  ground: Rgb;
  /** By category, shade and step of opacity: 1 where dark text reads better. */
  darkText: Uint8Array;
  css: Record<Ink, string>;
}

/** The other colors of the drawing, by their variable. */
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
  const ground = parseColor(read("--surface"));
  const slices = new Uint32Array(CATEGORIES.length * SHADE_COUNT);
  const darkText = new Uint8Array(CATEGORIES.length * SHADE_COUNT * FILL_STEPS);
  const cells = new Uint32Array(CATEGORIES.length * SHADE_COUNT * OPACITY_STEPS);
  for (let category = 0; category < CATEGORIES.length; category++) {
    const base = parseColor(read(`--cat-${category}`));
    for (let shade = 0; shade < SHADE_COUNT; shade++) {
      const at = category * SHADE_COUNT + shade;
      const way = (2 * shade) / (SHADE_COUNT - 1) - 1;
      const color = mix(base, way > 0 ? WHITE : BLACK, Math.abs(way) * MAX_MIX_SHARE);
      slices[at] = pack(color);
      for (let step = 0; step < OPACITY_STEPS; step++) {
        const opacity = Math.round((255 * step) / (OPACITY_STEPS - 1));
        cells[at * OPACITY_STEPS + step] = flatCell(slices[at]!, opacity, STRIPED.has(category));
      }
      for (let fill = 0; fill < FILL_STEPS; fill++) {
        const seen = mix(ground, unpack(slices[at]!), (fill + 1) / FILL_STEPS);
        darkText[at * FILL_STEPS + fill] = contrast(seen, BLACK) >= contrast(seen, WHITE) ? 1 : 0;
      }
    }
  }
  const css = Object.fromEntries(INKS.map((ink) => [ink, read(`--${ink}`)])) as Record<Ink, string>;
  return { slices, cells, ground, darkText, css };
}

export function slot(category: number, shade: number): number {
  return Math.min(category, CATEGORIES.length - 1) * SHADE_COUNT + shade;
}

/** The cell of a slice, with an opacity from 0 to 1. */
export function sliceCell(palette: Palette, at: number, opacity: number): number {
  return palette.cells[at * OPACITY_STEPS + ((opacity * (OPACITY_STEPS - 1) + 0.5) | 0)]!;
}

/** Whether dark text reads better on this color with an opacity from 0 to 1. */
export function wantsDarkText(palette: Palette, at: number, opacity: number): boolean {
  return palette.darkText[at * FILL_STEPS + Math.min(FILL_STEPS - 1, (opacity * FILL_STEPS) | 0)] === 1;
}

/** The palette of the page as it is now. */
export function pagePalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  return makePalette((variable) => style.getPropertyValue(variable));
}
