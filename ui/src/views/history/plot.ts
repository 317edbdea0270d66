// A metric over its measurements: where points, levels and changes are drawn. Pure.

import type { HistoryChange, HistoryPoint } from "../../data/wire.ts";
import { roundStep } from "../../parts/charts/ticks.ts";

/** A stretch of measurements on one level. */
export interface Level {
  /** Its first measurement, and the first of the next one. */
  from: number;
  to: number;
  value: number;
}

/** The stretches between changes, with the median of each as the changes name it; without a change there is none to name. */
export function levelsOf(count: number, changes: readonly HistoryChange[]): Level[] {
  if (changes.length === 0 || count === 0) return [];
  const sorted = [...changes].sort((a, b) => a.at - b.at);
  const levels: Level[] = [{ from: 0, to: sorted[0]!.at, value: sorted[0]!.before }];
  sorted.forEach((change, at) => {
    levels.push({ from: change.at, to: sorted[at + 1]?.at ?? count, value: change.after });
  });
  return levels.filter((level) => level.to > level.from);
}

export interface Scale {
  low: number;
  high: number;
  ticks: number[];
}

/** From below the lowest run to above the highest, not from zero: 5% would not show. */
export function scaleOf(points: readonly HistoryPoint[], about: number): Scale {
  const lowest = Math.min(...points.map((point) => point.low));
  const highest = Math.max(...points.map((point) => point.high));
  // A level that never changes is drawn in the middle of a tenth.
  const span = highest > lowest ? highest - lowest : Math.max(Math.abs(highest) * 0.1, 1e-9);
  const step = roundStep(span / Math.max(1, about));
  const low = Math.floor((lowest - span * 0.05) / step) * step;
  const high = Math.ceil((highest + span * 0.05) / step) * step;
  const ticks: number[] = [];
  for (let k = Math.round(low / step); k <= Math.round(high / step); k++) ticks.push(k * step);
  return {
    low: lowest >= 0 ? Math.max(0, low) : low,
    high,
    ticks: ticks.filter((tick) => lowest < 0 || tick >= 0),
  };
}

/** Where a measurement is across the drawing: the first and the last have half a place of margin. */
export function acrossOf(at: number, count: number, width: number): number {
  return ((at + 0.5) / Math.max(1, count)) * width;
}

/** What a measurement is called below the drawing: its commit, or its day. */
export function shortLabel({ commit, measured_at }: HistoryPoint): string {
  return commit ?? measured_at.slice(0, 10);
}

/** About so many of the measurements, evenly: those that have a label. */
export function labelled(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / Math.max(1, most)));
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}
