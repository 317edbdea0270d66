// Arrows from the selected slice to what it is linked with. Where they run is pure; drawing is below.

import type { Details, Ref, Relation } from "../../data/types.ts";
import { ROW_HEIGHT } from "./lane-layout.ts";

/** Relations in which the other end comes first. */
const BACKWARD: ReadonlySet<Relation> = new Set(["launched by", "operator", "forward"]);

export interface Arrow {
  from: Ref;
  to: Ref;
}

/** Arrows point from cause to effect, whichever end is selected. */
export function arrowsOf(details: Details): Arrow[] {
  return details.links.map(({ relation, to }) =>
    BACKWARD.has(relation) ? { from: to, to: details } : { from: details, to },
  );
}

export function isBackward(relation: Relation): boolean {
  return BACKWARD.has(relation);
}

export interface Curve {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  /** How far the curve leaves and arrives level. */
  bend: number;
}

const MIN_BEND_PX = 14;
const MAX_BEND_PX = 120;
/** Ends out of sight are drawn this far beyond the edge. */
const OUT_OF_SIGHT_PX = 60;

/** From the end of the first to the start of the second, or from its start if the second begins before. */
export function curveOf(
  arrow: Arrow,
  x: (time: number) => number,
  y: (row: number) => number | undefined,
  width: number,
): Curve | undefined {
  const y0 = y(arrow.from.row);
  const y1 = y(arrow.to.row);
  if (y0 === undefined || y1 === undefined) return undefined;
  const end = arrow.from.start_ns + arrow.from.dur_ns;
  const leaves = arrow.to.start_ns >= end ? end : arrow.from.start_ns;
  const near = (value: number) => Math.max(-OUT_OF_SIGHT_PX, Math.min(width + OUT_OF_SIGHT_PX, value));
  const x0 = near(x(leaves));
  const x1 = near(x(arrow.to.start_ns));
  const bend = Math.max(MIN_BEND_PX, Math.min(MAX_BEND_PX, Math.abs(x1 - x0) / 2));
  return { x0, y0: y0 + ROW_HEIGHT / 2, x1, y1: y1 + ROW_HEIGHT / 2, bend };
}

const HEAD_PX = 6;

export function drawCurve(context: CanvasRenderingContext2D, curve: Curve): void {
  const { x0, y0, x1, y1, bend } = curve;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 2, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - HEAD_PX - 1, y1 - HEAD_PX / 1.6);
  context.lineTo(x1 - HEAD_PX - 1, y1 + HEAD_PX / 1.6);
  context.closePath();
  context.fill();
}
