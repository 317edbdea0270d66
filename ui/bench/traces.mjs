// The traces to look at: those named, and synthetic ones made once and kept.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { freeDisk, say } from "./machine.mjs";
import { DATA, ROOT } from "./options.mjs";

/** Bytes of a synthetic trace for each event, gzip, with room to spare. */
const BYTES_PER_EVENT = 25;
const SPARE_DISK = 1e9;
/** The seed of the benchmark of the command line, which keeps its traces in the same folder. */
const SEED = 1;

/** `[{path, name, bytes}]`, and why others are missing. */
export function gatherTraces({ traces, events }) {
  const found = [];
  const missing = [];
  for (const file of traces) {
    if (existsSync(file)) found.push(describe(path.resolve(file)));
    else missing.push(`${path.basename(file)}: no such file`);
  }
  for (const size of events) {
    const made = synthetic(size);
    if (made.problem) missing.push(`synthetic trace of ${size} events: ${made.problem}`);
    else found.push(describe(made.path));
  }
  return { found, missing };
}

function describe(file) {
  return { path: file, name: path.basename(file), bytes: statSync(file).size };
}

function synthetic(size) {
  mkdirSync(DATA, { recursive: true });
  const file = path.join(DATA, `synthetic-${size}.pt.trace.json.gz`);
  if (existsSync(file)) return { path: file };
  const needed = size * BYTES_PER_EVENT + SPARE_DISK;
  const free = freeDisk(DATA);
  if (free < needed) {
    return { problem: `the disk is short: ${gigabytes(needed)} wanted, ${gigabytes(free)} free` };
  }
  say(`making ${path.basename(file)}`);
  const part = file.replace(".pt.trace", ".part.pt.trace");
  const make = [
    "run",
    "--release",
    "--quiet",
    "--locked",
    "-p",
    "stepscope-testkit",
    "--bin",
    "synth-trace",
    "--",
  ];
  const wanted = ["--events", String(size), "--seed", String(SEED), "--out", part];
  const { status, error } = spawnSync("cargo", [...make, ...wanted], { cwd: ROOT, stdio: ["ignore", 2, 2] });
  if (status !== 0) {
    rmSync(part, { force: true });
    return { problem: `synth-trace ${error ? `cannot be started: ${error.message}` : `ended with ${status}`}` };
  }
  renameSync(part, file);
  return { path: file };
}

function gigabytes(bytes) {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
