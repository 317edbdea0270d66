// The roofs of a device: what its memory and its arithmetic allow at each intensity.

import type { Hardware, RooflineRow } from "../../data/wire.ts";
import { decades } from "../../parts/charts/ticks.ts";

/** In which order arithmetic is named, narrowest last. */
export const PRECISIONS = ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"] as const;

/** The peaks in the table of hardware: products in 64 or 32 bits may have one of their own. */
const PEAKS = [...PRECISIONS, "fp64_matrix", "fp32_matrix"] as const;

export interface Roof {
  /** TFLOP/s. */
  tflops: number;
  /** The arithmetic with this peak, e.g. `fp16` and `bf16`. */
  keys: string[];
  /** Whether any operator in sight runs in it. */
  used: boolean;
}

/** The compute peaks, highest first; equal ones share a line. */
export function roofsOf(hardware: Hardware, used: ReadonlySet<string>): Roof[] {
  const roofs: Roof[] = [];
  for (const key of PEAKS) {
    const tflops = hardware[key];
    if (tflops === null || !(tflops > 0)) continue;
    const same = roofs.find((roof) => roof.tflops === tflops);
    if (same) same.keys.push(key);
    else roofs.push({ tflops, keys: [key], used: false });
  }
  for (const roof of roofs) roof.used = roof.keys.some((key) => used.has(key.replace("_matrix", "")));
  return roofs.sort((a, b) => b.tflops - a.tflops);
}

/** The FLOP/byte at which memory and arithmetic limit alike. */
export function ridge(tflops: number, gbs: number): number {
  return (tflops * 1000) / gbs;
}

/** What memory allows at an intensity, in TFLOP/s. */
export function memoryRoof(intensity: number, gbs: number): number {
  return (intensity * gbs) / 1000;
}

export type Line = [from: [x: number, y: number], to: [x: number, y: number]];

/** The flat part of a roof, from its ridge to the right edge; `undefined` if the ridge lies beyond. */
export function flatLine(tflops: number, gbs: number, xMin: number, xMax: number): Line | undefined {
  const start = Math.max(xMin, ridge(tflops, gbs));
  return start < xMax
    ? [
        [start, tflops],
        [xMax, tflops],
      ]
    : undefined;
}

/** The slope of the memory up to the highest roof, within the plot. */
export function slopeLine(
  gbs: number,
  top: number,
  xMin: number,
  xMax: number,
  yMin: number,
): Line | undefined {
  const start = Math.max(xMin, (yMin * 1000) / gbs);
  const end = Math.min(xMax, ridge(top, gbs));
  return start < end
    ? [
        [start, memoryRoof(start, gbs)],
        [end, memoryRoof(end, gbs)],
      ]
    : undefined;
}

/** An operator with a place in the plot. */
export type PlacedRow = RooflineRow & { intensity: number; tflops: number };

/** Operators that have a place on two logarithmic axes: those that calculate. */
export function hasPlace(row: RooflineRow): row is PlacedRow {
  return (row.intensity ?? 0) > 0 && (row.tflops ?? 0) > 0;
}

export interface Domain {
  x: [number, number];
  y: [number, number];
}

/** Axes that hold every operator, and the ridges and roofs of what they run in. */
export function domainOf(rows: RooflineRow[], roofs: Roof[], gbs: number | undefined): Domain {
  const shown = rows.filter(hasPlace);
  const xs = shown.map((row) => row.intensity);
  const ys = shown.map((row) => row.tflops);
  for (const roof of roofs) {
    ys.push(roof.tflops * 1.2);
    if (gbs) xs.push(ridge(roof.tflops, gbs) * 2);
  }
  return { x: shortened(decades(xs) ?? [0.1, 1000]), y: shortened(decades(ys) ?? [0.1, 1000]) };
}

/** A few tiny operators must not press all others into a corner: the axis ends there, they are drawn at its edge. */
function shortened([min, max]: [number, number]): [number, number] {
  return [Math.max(min, max / 10 ** MAX_DECADES), max];
}

/** Whether an operator lies beyond the axes, so that its mark is drawn at the edge. */
export function isBeyond(row: RooflineRow, domain: Domain): boolean {
  return hasPlace(row) && (row.intensity < domain.x[0] * (1 - 1e-9) || row.tflops < domain.y[0] * (1 - 1e-9));
}

/** Labels at least so far apart, in their order from above: each moves down as far as it must. */
export function spread(tops: number[], apart: number): number[] {
  let last = Number.NEGATIVE_INFINITY;
  return tops.map((top) => {
    last = Math.max(top, last + apart);
    return last;
  });
}

/** Powers of ten on an axis. */
const MAX_DECADES = 6;
const MIN_RADIUS_PX = 3.5;
const MAX_RADIUS_PX = 20;

/** The radius of an operator's mark: its area grows with its part of the device's time. */
export function radius(share: number): number {
  const wanted = MAX_RADIUS_PX * Math.sqrt(Math.max(0, Math.min(1, share)) / 0.4);
  return Math.max(MIN_RADIUS_PX, Math.min(MAX_RADIUS_PX, wanted));
}
