// The events of a trace file as they stand in it, for counting by hand.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

export interface Event {
  ph: string;
  name?: string;
  cat?: string;
  ts?: number;
  dur?: number;
  pid?: number | string;
  tid?: number | string;
  id?: number | string;
  args?: Record<string, unknown>;
}

export interface TraceFile {
  traceEvents: Event[];
  [key: string]: unknown;
}

const files = new Map<string, TraceFile>();

export function readTrace(path: string): TraceFile {
  let file = files.get(path);
  if (!file) {
    const bytes = readFileSync(path);
    file = JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")) as TraceFile;
    files.set(path, file);
  }
  return file;
}

/** Slices: complete events. */
export function slicesOf(path: string): Event[] {
  return readTrace(path).traceEvents.filter((event) => event.ph === "X");
}

/** Microseconds with three decimals as whole nanoseconds. */
export function ns(microseconds: number | undefined): number {
  return Math.round((microseconds ?? 0) * 1000);
}
