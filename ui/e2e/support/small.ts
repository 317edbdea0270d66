// Small traces made for one purpose.

import { copyFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { readTrace, type TraceFile } from "./events.ts";

/** Writes a trace into a folder; returns its path. */
export function writeTrace(folder: string, name: string, trace: TraceFile | string): string {
  const path = join(folder, name);
  writeFileSync(path, typeof trace === "string" ? trace : JSON.stringify(trace));
  return path;
}

/** Copies a recorded trace into a folder; returns its path. */
export function copyTrace(folder: string, trace: string, name = basename(trace)): string {
  const path = join(folder, name);
  copyFileSync(trace, path);
  return path;
}

const OF_DEVICE = /^(kernel|gpu_|cuda_|overhead|ac2g|Trace)/;

/** A recorded trace without everything that a device did. */
export function withoutDevice(trace: string): TraceFile {
  const file = readTrace(trace);
  const kept = file.traceEvents.filter(
    (event) =>
      !OF_DEVICE.test(event.cat ?? "") && !(event.name === "[memory]" && event.args?.["Device Type"] === 1),
  );
  return { ...file, deviceProperties: [], traceEvents: kept };
}
