// The part of the picture in sight, and how gestures change it. Pure.

import { clampSpan, type Span, zoomSpan } from "../../../parts/span.ts";
import type { Window } from "./picture.ts";

/** All there is: the axis from 0 to `to`, bytes from 0 to `high`. */
export interface Extent {
  to: number;
  high: number;
}

/** No closer than this many units of the axis, and bytes. */
const MIN_AXIS_UNITS = 8;
const MIN_BYTES = 4096;

export function whole({ to, high }: Extent): Window {
  return { from: 0, to, low: 0, high };
}

/** The same size, or all there is, moved to where there is something to see. */
export function clampWindow(window: Window, extent: Extent): Window {
  const axis = clampSpan(window, { from: 0, to: extent.to }, MIN_AXIS_UNITS);
  const { from: low, to: high } = clampSpan(bytesOf(window), { from: 0, to: extent.high }, MIN_BYTES);
  return { ...axis, low, high };
}

function bytesOf({ low, high }: Window): Span {
  return { from: low, to: high };
}

/** `factor` times as much of the axis in sight; what is at `share` of the width stays there. */
export function zoomAxis(window: Window, factor: number, share: number, extent: Extent): Window {
  const axis = zoomSpan(window, factor, share, { from: 0, to: extent.to }, MIN_AXIS_UNITS);
  return clampWindow({ ...window, ...axis }, extent);
}

/** The same for bytes; `share` counts from below. */
export function zoomBytes(window: Window, factor: number, share: number, extent: Extent): Window {
  const { from: low, to: high } = zoomSpan(
    bytesOf(window),
    factor,
    share,
    { from: 0, to: extent.high },
    MIN_BYTES,
  );
  return clampWindow({ ...window, low, high }, extent);
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
