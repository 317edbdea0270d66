// What the browser is pointed at: `stepscope view`, or the static files of a rival.

import { spawn } from "node:child_process";
import { createReadStream, statSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { childOf, stopChild, whenDone } from "./ending.mjs";
import { epoch } from "./machine.mjs";

const PORTS = 20;
const START_MS = 30_000;
let next = 0;

/** A port of ours that nobody listens on, each in turn. */
export async function freePort(first) {
  for (let tries = 0; tries < PORTS; tries++) {
    const port = first + (next++ % PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${first} to ${first + PORTS - 1}`);
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Starts `stepscope view` and waits for the line with its address. */
export async function startStepscope(options, trace) {
  const port = await freePort(options.port);
  const page = options.uiDir ? ["--ui-dir", options.uiDir] : [];
  const spawnedAt = epoch();
  const child = childOf(
    spawn(options.bin, ["view", trace, "--no-open", "--port", String(port), ...page], {
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  const stop = whenDone(() => stopChild(child));
  const said = { complaint: "" };
  child.stderr.on("data", (text) => {
    said.complaint = (said.complaint + text).slice(-500);
  });
  const url = await addressOf(child, said);
  /** An error of the page, unless it is because the server is gone. */
  const explain = (error) => {
    const how = child.signalCode ?? child.exitCode;
    return how === null ? error : new Error(`stepscope view ended with ${how}: ${said.complaint.trim()}`);
  };
  return { url, pid: child.pid, spawnedAt, listeningMs: epoch() - spawnedAt, explain, stop };
}

function addressOf(child, said) {
  let told = "";
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`stepscope view ${why}: ${said.complaint.trim()}`));
    const timer = setTimeout(() => fail("printed no address"), START_MS);
    child.stdout.on("data", (text) => {
      told += text;
      const url = /https?:\/\/\S+(?=\s)/.exec(told)?.[0];
      if (!url) return;
      clearTimeout(timer);
      resolve(url);
    });
    child.once("error", (error) => fail(`cannot be started (${error.message})`));
    child.once("exit", (code) => fail(`ended with ${code}`));
  });
}

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".woff2": "font/woff2",
  ".png": "image/png",
};

/**
 * Serves files: `places` maps the beginning of a path to a folder or one file, the longest beginning first.
 * What is compressed is sent as it lies there, as if dropped onto the page.
 */
export async function serveFiles(firstPort, places) {
  const port = await freePort(firstPort);
  const known = Object.entries(places).sort(([a], [b]) => b.length - a.length);
  const server = http.createServer((request, response) => {
    const asked = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const file = fileFor(known, asked);
    let size;
    try {
      const stat = statSync(file);
      if (!stat.isFile()) throw new Error("not a file");
      size = stat.size;
    } catch {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[path.extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-length": size, "cache-control": "no-store" });
    createReadStream(file)
      .on("error", () => response.destroy())
      .pipe(response);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = whenDone(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { origin: `http://127.0.0.1:${port}`, stop };
}

function fileFor(known, asked) {
  const place = known.find(([start]) => asked.startsWith(start));
  if (!place) return "";
  const [start, target] = place;
  const rest = path.normalize(asked.slice(start.length)).replace(/^(\.\.[/\\])+/, "");
  return rest === "." || rest === "" ? target : path.join(target, rest);
}
