// The part of the picture in sight, and how gestures change it. Pure.

import type { Window } from "./picture.ts";

/** All there is: the axis from 0 to `to`, bytes from 0 to `high`. */
export interface Extent {
  to: number;
  high: number;
}

/** No closer than this many units of the axis, and bytes. */
const SHORTEST = 8;
const LOWEST = 4096;

export function whole({ to, high }: Extent): Window {
  return { from: 0, to, low: 0, high };
}

/** The same size, or all there is, moved to where there is something to see. */
export function clampWindow(window: Window, extent: Extent): Window {
  const [from, to] = clampSide(window.from, window.to, extent.to, SHORTEST);
  const [low, high] = clampSide(window.low, window.high, extent.high, LOWEST);
  return { from, to, low, high };
}

function clampSide(from: number, to: number, most: number, least: number): [number, number] {
  const length = Math.min(most, Math.max(to - from, Math.min(least, most)));
  const middle = (from + to) / 2;
  const start = Math.min(Math.max(middle - length / 2, 0), most - length);
  return [start, start + length];
}

/** `factor` times as much of the axis in sight; what is at `share` of the width stays there. */
export function zoomAxis(window: Window, factor: number, share: number, extent: Extent): Window {
  const [from, to] = zoomSide(window.from, window.to, factor, share, extent.to, SHORTEST);
  return clampWindow({ ...window, from, to }, extent);
}

/** The same for bytes; `share` counts from below. */
export function zoomBytes(window: Window, factor: number, share: number, extent: Extent): Window {
  const [low, high] = zoomSide(window.low, window.high, factor, share, extent.high, LOWEST);
  return clampWindow({ ...window, low, high }, extent);
}

function zoomSide(
  from: number,
  to: number,
  factor: number,
  share: number,
  most: number,
  least: number,
): [number, number] {
  const length = Math.min(most, Math.max((to - from) * factor, Math.min(least, most)));
  const anchor = from + share * (to - from);
  return [anchor - share * length, anchor + (1 - share) * length];
}

/** Moved by shares of its size. */
export function panWindow(window: Window, right: number, up: number, extent: Extent): Window {
  const [dx, dy] = [right * (window.to - window.from), up * (window.high - window.low)];
  return clampWindow(
    { from: window.from + dx, to: window.to + dx, low: window.low + dy, high: window.high + dy },
    extent,
  );
}

export function isWhole(window: Window, extent: Extent): boolean {
  return window.from <= 0 && window.to >= extent.to && window.low <= 0 && window.high >= extent.high;
}
