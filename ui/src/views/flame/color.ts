// Colors of boxes: the category gives the hue, the name a step of lightness, the text what can be read on it.

import { CATEGORIES } from "../../data/wire.ts";

type Rgb = [number, number, number];

export interface Shade {
  fill: string;
  text: string;
}

/** What the style sheet says now; read again when the theme changes. */
export interface Palette {
  /** How a node looks: its category, its name's hash, faded where a search does not mean it. */
  shade(category: number, hash: number, faded: boolean): Shade;
  /** How a change looks: from -1, all of it gone, over 0, the same, to 1, all of it new. */
  change(level: number, faded: boolean): Shade;
  band: Shade;
  surface: string;
  outline: string;
  accent: string;
  line: string;
  font: string;
}

const SHADE_STEPS = 5;
/** How far the lightest and darkest shade of a category are from its color. */
const MAX_LIGHTER_SHARE = 0.14;
const FADED_SHARE = 0.62;
const MIN_CONTRAST = 4.5;
/** Shades between the same and all changed. */
const CHANGE_LEVELS = 12;

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const surface = parse(token("--surface"));
  const inks: [Rgb, Rgb] = [parse(token("--select")), parse(token("--on-accent"))];
  const known = new Map<number, Shade>();
  const changes = new Map<number, Shade>();
  const ends = [token("--cat-7"), token("--cat-13"), token("--cat-9")].map(parse) as [Rgb, Rgb, Rgb];
  const made = (fill: Rgb): Shade => {
    const shade = readable(fill, inks);
    return { fill: css(shade.fill), text: css(shade.text) };
  };
  return {
    shade(category, hash, faded) {
      const step = hash % SHADE_STEPS;
      const key = (category * SHADE_STEPS + step) * 2 + (faded ? 1 : 0);
      let shade = known.get(key);
      if (!shade) {
        const base = parse(token(`--cat-${Math.min(category, CATEGORIES.length - 1)}`));
        const lit = lighten(
          base,
          ((step - (SHADE_STEPS - 1) / 2) / ((SHADE_STEPS - 1) / 2)) * MAX_LIGHTER_SHARE,
        );
        shade = made(faded ? mix(lit, surface, FADED_SHARE) : lit);
        known.set(key, shade);
      }
      return shade;
    },
    change(level, faded) {
      const step = Math.round(Math.max(-1, Math.min(1, level)) * CHANGE_LEVELS);
      const key = step * 2 + (faded ? 1 : 0);
      let shade = changes.get(key);
      if (!shade) {
        const color = changeColor(step / CHANGE_LEVELS, ends);
        shade = made(faded ? mix(color, surface, FADED_SHARE) : color);
        changes.set(key, shade);
      }
      return shade;
    },
    band: made(mix(parse(token("--quiet")), surface, 0.4)),
    surface: css(surface),
    outline: token("--select"),
    accent: token("--accent"),
    line: token("--line"),
    font: `12px ${token("--font") || "sans-serif"}`,
  };
}

/** Between three colors: that of less, of the same and of more. */
export function changeColor(level: number, [less, same, more]: [Rgb, Rgb, Rgb]): Rgb {
  return mix(same, level < 0 ? less : more, Math.abs(level));
}

/** The same for the same name, whatever else is in the trace. */
export function hashOf(name: string): number {
  let hash = 2166136261;
  const length = Math.min(name.length, 400);
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return hash >>> 0;
}

/** `#rgb`, `#rrggbb` or `rgb(…)`. */
export function parse(text: string): Rgb {
  const hex = text.startsWith("#") ? text.slice(1) : "";
  if (hex.length === 3) return [0, 1, 2].map((i) => Number.parseInt(hex[i]! + hex[i]!, 16)) as Rgb;
  if (hex.length >= 6) return [0, 2, 4].map((i) => Number.parseInt(hex.slice(i, i + 2), 16)) as Rgb;
  const numbers = text.match(/[\d.]+/g)?.map(Number) ?? [];
  return [numbers[0] ?? 128, numbers[1] ?? 128, numbers[2] ?? 128];
}

function css(color: Rgb): string {
  return `rgb(${color.map(Math.round).join(" ")})`;
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return a.map((value, i) => value + (b[i]! - value) * share) as Rgb;
}

/** Towards white above zero, towards black below. */
function lighten(color: Rgb, by: number): Rgb {
  return mix(color, by > 0 ? [255, 255, 255] : [0, 0, 0], Math.abs(by));
}

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

/** The ink that reads better; the ground gives way where neither reads well. */
export function readable(fill: Rgb, inks: [Rgb, Rgb]): { fill: Rgb; text: Rgb } {
  const text = contrast(fill, inks[0]) >= contrast(fill, inks[1]) ? inks[0] : inks[1];
  const away = luminance(text) > 0.5 ? -0.03 : 0.03;
  let ground = fill;
  for (let i = 0; i < 30 && contrast(ground, text) < MIN_CONTRAST; i++) ground = lighten(ground, away);
  return { fill: ground, text };
}
