// The same program in the terminal: what the page shows must be what it prints.

import { execFileSync, spawnSync } from "node:child_process";
import type { DiffAnswer } from "../../src/data/types.ts";
import { PROGRAM } from "./paths.ts";

const LARGEST = 256 * 1024 * 1024;
const answers = new Map<string, unknown>();

/** `stepscope COMMAND TRACE --format json OPTIONS`; asked once. */
export function ask<T>(command: string, trace: string, ...options: string[]): T {
  return answer([command, trace, "--format", "json", ...options]);
}

/** `stepscope diff BEFORE AFTER --format json`, with all rows; asked once. */
export function diff(before: string, after: string): DiffAnswer {
  return answer(["diff", before, after, "--format", "json", "--top", "0"]);
}

function answer<T>(args: string[]): T {
  const key = args.join("\0");
  if (!answers.has(key)) {
    const text = execFileSync(PROGRAM, args, {
      maxBuffer: LARGEST,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    answers.set(key, JSON.parse(text));
  }
  return answers.get(key) as T;
}

/** Runs the program and says how it went. */
export function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(PROGRAM, args, { maxBuffer: LARGEST, encoding: "utf8" });
  return { status, stdout, stderr };
}
