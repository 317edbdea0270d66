// The real server, started for a trace and ended again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { PROGRAM, UI_DIR } from "./paths.ts";

/** Ports tried, so many for each worker. */
const FIRST_PORT = Number(process.env.STEPSCOPE_E2E_PORT ?? 7760);
const PORTS = 20;
const PATIENCE_MS = 30_000;

export class LiveServer {
  /** With the token and a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly #process: ChildProcess;

  constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.port = Number(new URL(url).port);
    this.#process = process;
  }

  get origin(): string {
    return new URL(this.url).origin;
  }

  /** An answer of the API, once the trace is read. */
  async json<T>(path: string): Promise<T> {
    const response = await this.get(path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** A response of the API that is not "still reading". */
  async get(path: string): Promise<Response> {
    for (;;) {
      const response = await fetch(new URL(path, this.url));
      if (response.status !== 202) return response;
      await response.arrayBuffer();
    }
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}

/** Starts `stepscope view` on a free port of this worker. */
export async function startServer(paths: readonly string[], worker: number, port?: number): Promise<LiveServer> {
  const options = ["--no-open", "--port", String(port ?? (await freePort(worker)))];
  if (UI_DIR) options.push("--ui-dir", UI_DIR);
  const child = spawn(PROGRAM, ["view", ...options, ...paths], { stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  child.stderr.on("data", (text: Buffer) => said.push(text.toString()));
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /https?:\/\/\S+\//.exec(line)?.[0];
      if (url) return new LiveServer(url, child);
    }
  } finally {
    clearTimeout(late);
  }
  throw new Error(`${PROGRAM} did not start: ${said.join("")}`);
}

async function freePort(worker: number): Promise<number> {
  const first = FIRST_PORT + (worker % 2) * PORTS;
  for (let port = first; port < first + PORTS; port++) if (await isFree(port)) return port;
  throw new Error(`no free port from ${first} to ${first + PORTS - 1}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
