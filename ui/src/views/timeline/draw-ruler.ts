// Draws the ruler, its lines through the rows, and marked spans.

import { timeLabel } from "../../parts/charts/ticks.ts";
import { time } from "../../parts/format.ts";
import type { Frame } from "./frame.ts";
import { ticksFor } from "./ruler.ts";
import { RULER_PX, type Screen } from "./screen.ts";
import type { Span } from "./visible-span.ts";

const MAX_TICKS = 400;
const FLAG_PX = 14;

export function drawRuler(context: CanvasRenderingContext2D, frame: Frame): void {
  const { screen, palette } = frame;
  const { width, view } = screen;
  const { origin } = frame.model;
  const { step, first, minor } = ticksFor(view.from - origin, view.to - origin, width);
  const scale = Math.max(Math.abs(view.from - origin), Math.abs(view.to - origin));
  context.fillStyle = palette.css.surface;
  context.fillRect(0, 0, width, RULER_PX);
  context.fillStyle = palette.css.line;
  context.fillRect(0, RULER_PX - 1, width, 1);
  for (
    let n = 0, at = first - step;
    at <= view.to - origin && n < MAX_TICKS;
    n++, at = first + (n - 1) * step
  ) {
    const x = Math.round(screen.x(at + origin));
    context.fillStyle = palette.css.line;
    for (let part = 1; part < minor; part++)
      context.fillRect(Math.round(screen.x(at + origin + (part * step) / minor)), RULER_PX - 4, 1, 3);
    context.fillStyle = palette.css.quiet;
    context.fillRect(x, RULER_PX - 8, 1, 7);
    context.fillText(timeLabel(at, step, scale), x + 4, RULER_PX / 2 - 1);
  }
  const { current, kept } = frame.model.marks.value;
  for (const span of kept) drawMark(context, frame, span, palette.css.quiet);
  if (current) drawMark(context, frame, current, palette.css.accent);
  const area = frame.model.area.value;
  if (area) drawMark(context, frame, area, palette.css.accent, false);
}

/** A span with its length on the ruler, and lines down where it begins and ends. */
function drawMark(
  context: CanvasRenderingContext2D,
  { screen, palette }: Frame,
  span: Span,
  color: string,
  lines = true,
): void {
  const left = Math.max(-2, screen.x(span.from));
  const right = Math.min(screen.width + 2, screen.x(span.to));
  if (right < 0 || left > screen.width) return;
  context.fillStyle = color;
  context.fillRect(left, RULER_PX - FLAG_PX, Math.max(1, right - left), FLAG_PX);
  if (lines) {
    context.setLineDash([3, 3]);
    context.strokeStyle = color;
    context.lineWidth = 1;
    for (const x of [left, right]) line(context, screen, Math.round(x) + 0.5);
    context.setLineDash([]);
  }
  const text = time(span.to - span.from);
  const size = context.measureText(text).width + 8;
  const middle = Math.min(Math.max((left + right) / 2, size / 2), screen.width - size / 2);
  if (right - left < size) {
    context.fillRect(middle - size / 2, RULER_PX - FLAG_PX, size, FLAG_PX);
  }
  context.fillStyle = palette.css.surface;
  context.textAlign = "center";
  context.fillText(text, middle, RULER_PX - FLAG_PX / 2);
  context.textAlign = "left";
}

function line(context: CanvasRenderingContext2D, screen: Screen, x: number): void {
  context.beginPath();
  context.moveTo(x, RULER_PX);
  context.lineTo(x, screen.height);
  context.stroke();
}
