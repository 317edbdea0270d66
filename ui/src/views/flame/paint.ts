// Paints the boxes in sight onto a canvas. Knows nothing of where they come from.

import { fitted } from "./box-label.ts";
import { hashOf, type Palette } from "./color.ts";
import type { Box } from "./layout.ts";
import { isSmaller, nameOf, type Tree } from "./tree.ts";

export const ROW_PX = 20;
const PAD_PX = 5;
/** Narrower boxes bear no text. */
const MIN_LABEL_PX = 26;
/** Communication and waits are hatched: color is never alone. */
const HATCHED = new Set([4, 9]);

export interface Picture {
  tree: Tree;
  rows: Box[][];
  /** Root at the bottom. */
  upwards: boolean;
  width: number;
  height: number;
  /** The whole picture's height, and how much of it is scrolled away. */
  full: number;
  scroll: number;
  searching: boolean;
  focus: number | undefined;
  hover: Box | undefined;
  /** By node: how much it changed. Colors say that instead of what nodes are. */
  changes?: Float32Array | undefined;
}

/** Top of a row in the whole picture. */
export function rowTop(depth: number, full: number, upwards: boolean): number {
  return upwards ? full - (depth + 1) * ROW_PX : depth * ROW_PX;
}

export function paint(context: CanvasRenderingContext2D, picture: Picture, palette: Palette): void {
  const { width, height, rows, full, upwards, scroll } = picture;
  context.clearRect(0, 0, width, height);
  context.font = palette.font;
  context.textBaseline = "middle";
  context.direction = "ltr";
  rows.forEach((row, depth) => {
    const y = rowTop(depth, full, upwards) - scroll;
    if (y + ROW_PX < 0 || y > height) return;
    for (const box of row) paintBox(context, picture, palette, box, y);
  });
}

function paintBox(
  context: CanvasRenderingContext2D,
  { tree, width, searching, focus, hover, changes }: Picture,
  palette: Palette,
  box: Box,
  y: number,
): void {
  const left = Math.max(0, box.x);
  const right = Math.min(width, box.x + box.width);
  // A gap of a pixel parts neighbors where there is room for it; nothing is thinner than a pixel can show.
  const wide = Math.max(right - left - (right - left > 3 ? 1 : 0), 0.75);
  const high = ROW_PX - 1;
  const name = box.merged > 0 ? "" : nameOf(tree, box.node);
  const faded = searching && !box.matched;
  const category = tree.category[box.node]!;
  const shade = changes
    ? palette.change(box.merged > 0 ? 0 : changes[box.node]!, faded)
    : box.merged > 0 || isSmaller(name)
      ? faded
        ? palette.shade(15, 2, true)
        : palette.band
      : palette.shade(category, hashOf(name.replace(/_\d+$/, "")), faded);
  context.fillStyle = shade.fill;
  context.fillRect(left, y, wide, high);
  if (!changes && box.merged === 0 && wide > 6 && HATCHED.has(category))
    hatch(context, left, y, wide, high, shade.text);
  if (searching && box.matched) {
    context.fillStyle = palette.accent;
    context.fillRect(left, y + high - 2, wide, 2);
  }
  if (name && wide > MIN_LABEL_PX) {
    context.fillStyle = shade.text;
    const text = fitted(name, wide - 2 * PAD_PX, (part) => context.measureText(part).width);
    context.fillText(text, left + PAD_PX, y + high / 2 + 0.5);
  }
  if (box.merged === 0 && box.node === focus) frame(context, left, y, wide, high, 2, palette.outline);
  else if (box === hover) frame(context, left, y, wide, high, 1, palette.outline);
}

function frame(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  line: number,
  color: string,
): void {
  context.strokeStyle = color;
  context.lineWidth = line;
  const half = line / 2;
  context.strokeRect(x + half, y + half, Math.max(width - line, 1), height - line);
}

function hatch(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  ink: string,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.globalAlpha = 0.22;
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 7) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}
