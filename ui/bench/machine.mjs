// The machine, and what its processes hold.

import { execFileSync } from "node:child_process";
import { readFileSync, statfsSync } from "node:fs";
import os from "node:os";

export function say(words) {
  process.stderr.write(`bench: ${words}\n`);
}

/** Milliseconds since 1970 with fractions: comparable with a page's `timeOrigin + now()`. */
export function epoch() {
  return performance.timeOrigin + performance.now();
}

export function machineFacts(bin) {
  return {
    processor: os.cpus()[0]?.model.trim() ?? "unknown processor",
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    system: `${os.type()} ${os.arch()}`,
    node: process.versions.node,
    stepscope: version(bin),
    load: os.loadavg()[0] ?? 0,
  };
}

function version(bin) {
  return execFileSync(bin, ["--version"], { encoding: "utf8" }).trim().split("\n")[0].replace("stepscope ", "");
}

export function freeDisk(folder) {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Memory that can be had without swapping. */
export function freeMemory() {
  const kilobytes = /^MemAvailable:\s+(\d+)/m.exec(read("/proc/meminfo") ?? "")?.[1];
  return kilobytes === undefined ? os.freemem() : Number(kilobytes) * 1024;
}

/** What a process holds now: PSS where the kernel tells it to us, else RSS; and the most it ever held. */
export function processMemory(pid) {
  const status = read(`/proc/${pid}/status`);
  const field = (text, name) => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text ?? "")?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  };
  const rollup = read(`/proc/${pid}/smaps_rollup`);
  const pss = field(rollup, "Pss");
  const rss = field(status, "VmRSS");
  return {
    bytes: pss ?? rss,
    kind: pss === undefined ? "RSS" : "PSS",
    fileBytes: field(rollup, "Pss_File"),
    rss,
    peakRss: field(status, "VmHWM"),
  };
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
