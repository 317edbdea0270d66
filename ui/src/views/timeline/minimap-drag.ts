// What dragging on the minimap does to the window. Pure.

import { clamp, type Span } from "./visible-span.ts";

const EDGE_PX = 6;
const CLICK_PX = 4;
/** The least width at which the window is drawn. */
export const MIN_WINDOW_PX = 3;

export type Grip =
  | { kind: "move"; offset: number }
  | { kind: "edge"; fixed: number }
  | { kind: "new"; x: number; from: number };

/** The minimap as it is: how wide, and which stretch of how much time is in sight. */
export interface MinimapState {
  width: number;
  extent: number;
  view: Span;
}

export function xOf(map: MinimapState, time: number): number {
  return (time / Math.max(1, map.extent)) * map.width;
}

export function timeOf(map: MinimapState, x: number): number {
  return (x / Math.max(1, map.width)) * map.extent;
}

/** Where the window is drawn. */
export function boxOf(map: MinimapState): { left: number; right: number } {
  const left = Math.max(0, Math.min(map.width - MIN_WINDOW_PX, xOf(map, map.view.from)));
  return { left, right: Math.max(left + MIN_WINDOW_PX, Math.min(map.width, xOf(map, map.view.to))) };
}

/** What a press there takes hold of: an edge of the window, the window, or nothing yet. */
export function gripAt(map: MinimapState, x: number): Grip {
  const { left, right } = boxOf(map);
  if (right - left > 3 * EDGE_PX || x < left || x > right) {
    if (Math.abs(x - left) <= EDGE_PX) return { kind: "edge", fixed: map.view.to };
    if (Math.abs(x - right) <= EDGE_PX) return { kind: "edge", fixed: map.view.from };
  }
  const all = right - left > map.width * 0.97;
  if (x > left && x < right && !all) return { kind: "move", offset: timeOf(map, x) - map.view.from };
  return { kind: "new", x, from: timeOf(map, x) };
}

/** Whether a press and a release there are a click beside the window. */
export function isClick(grip: Grip, x: number): boolean {
  return grip.kind === "new" && Math.abs(x - grip.x) <= CLICK_PX;
}

/** The window once the pointer is at `x`; the same if nothing changes. */
export function draggedTo(map: MinimapState, grip: Grip, x: number): Span {
  if (grip.kind === "move") {
    const from = timeOf(map, x) - grip.offset;
    return clamp({ from, to: from + map.view.to - map.view.from }, map.extent);
  }
  if (isClick(grip, x)) return map.view;
  const time = Math.max(0, Math.min(map.extent, timeOf(map, x)));
  const other = grip.kind === "edge" ? grip.fixed : grip.from;
  const span = { from: Math.min(other, time), to: Math.max(other, time) };
  return span.to > span.from ? span : map.view;
}
