// The real server, started for a trace and ended again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { PROGRAM, UI_DIR } from "./paths.ts";

const PATIENCE_MS = 30_000;
/** Someone else may take a free port before we do. */
const TRIES = 5;

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

/** Starts `stepscope view`, or another command with a page, on a free port. */
export async function startServer(paths: readonly string[], command = "view"): Promise<LiveServer> {
  for (let tries = 1; ; tries++) {
    const found = await tryPort(command, paths, await freePort());
    if (found instanceof LiveServer) return found;
    if (tries === TRIES || !found.includes("in use")) throw new Error(`${PROGRAM} did not start: ${found}`);
  }
}

/** The server, or what it said instead of starting. */
async function tryPort(command: string, paths: readonly string[], port: number): Promise<LiveServer | string> {
  const options = ["--no-open", "--port", String(port)];
  if (UI_DIR) options.push("--ui-dir", UI_DIR);
  const child = spawn(PROGRAM, [command, ...options, ...paths], { stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  child.stderr.on("data", (text: Buffer) => said.push(text.toString()));
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /https?:\/\/[^\s#]+\//.exec(line)?.[0];
      if (url) return new LiveServer(url, child);
    }
  } finally {
    clearTimeout(late);
  }
  return said.join("");
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" ? (address?.port ?? 0) : 0;
      probe.close(() => resolve(port));
    });
  });
}
