// What every test has: servers by trace, pages that must not complain, a folder to write in.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConsoleMessage, expect, type Page, test as plain } from "@playwright/test";
import type { ViewId } from "./paths.ts";
import { type Written, writeComparison, writeReport } from "./report.ts";
import { type LiveServer, startServer } from "./server.ts";

type Params = Record<string, string | number>;

export interface OwnFixtures {
  /** Complaints of the pages; a test fails if one is left that it did not expect. */
  complaints: Complaints;
  /** Starts a server for this test alone. */
  start: (paths: readonly string[]) => Promise<LiveServer>;
  /** Opens a view of a trace and waits until it is still. */
  open: (trace: string | LiveServer, view: ViewId, params?: Params) => Promise<LiveServer>;
  /** An empty folder, gone after the test. */
  folder: string;
}

export interface WorkerFixtures {
  /** The server of a trace, shared by the tests of a worker. */
  serve: (...paths: string[]) => Promise<LiveServer>;
  /** The report of a trace, written once per worker. */
  reportOf: (trace: string, ...options: string[]) => Written;
  /** The report of two traces, written once per worker. */
  comparisonOf: (before: string, after: string, ...options: string[]) => Written;
  /** An empty folder, gone after the worker. */
  shelf: string;
}

/** The browser's own words about how it shows WebGL without a GPU. */
const OF_BROWSER = /GPU stall due to ReadPixels/;

export class Complaints {
  readonly #said: string[] = [];
  readonly #expected: RegExp[] = [];

  hear(text: string): void {
    if (!OF_BROWSER.test(text)) this.#said.push(text);
  }

  /** Complaints like this are part of the test. */
  expect(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  /** Those that no one expected. */
  unexpected(): string[] {
    return this.#said.filter((text) => !this.#expected.some((pattern) => pattern.test(text)));
  }
}

export const test = plain.extend<OwnFixtures, WorkerFixtures>({
  serve: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants the pattern
    async ({}, use) => {
      const servers = new Map<string, Promise<LiveServer>>();
      await use((...paths) => {
        const key = paths.join("\0");
        let server = servers.get(key);
        if (!server) {
          server = startServer(paths);
          servers.set(key, server);
        }
        return server;
      });
      for (const server of servers.values()) await (await server).stop();
    },
    { scope: "worker" },
  ],
  shelf: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants the pattern
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "stepscope-e2e-"));
      await use(folder);
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
  reportOf: [async ({ shelf }, use) => use(once(shelf, writeReport)), { scope: "worker" }],
  comparisonOf: [async ({ shelf }, use) => use(once(shelf, writeComparison)), { scope: "worker" }],
  start: async ({ context }, use) => {
    const servers: LiveServer[] = [];
    await use(async (paths) => {
      const server = await startServer(paths);
      servers.push(server);
      return server;
    });
    // A page asks its server again and again: one whose server has gone would complain.
    for (const page of context.pages()) await page.close();
    for (const server of servers) await server.stop();
  },
  complaints: [
    async ({ context }, use) => {
      const complaints = new Complaints();
      const onConsole = (message: ConsoleMessage) => {
        if (message.type() === "error" || message.type() === "warning")
          complaints.hear(`${message.type()}: ${message.text()} (${message.location().url})`);
      };
      context.on("console", onConsole);
      context.on("weberror", (error) => complaints.hear(`exception: ${error.error().stack ?? error.error()}`));
      await use(complaints);
      context.off("console", onConsole);
      expect(complaints.unexpected(), "what the page complained about").toEqual([]);
    },
    { auto: true },
  ],
  open: async ({ page, serve }, use) => {
    await use(async (trace, view, params) => {
      const server = typeof trace === "string" ? await serve(trace) : trace;
      await visit(page, server.url + address(view, params));
      return server;
    });
  },
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants the pattern
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "stepscope-e2e-"));
    await use(folder);
    rmSync(folder, { recursive: true });
  },
});

export { expect };

/** Writes each file once, in a folder of its own. */
function once<T extends string[]>(shelf: string, write: (folder: string, ...of: T) => Written) {
  const written = new Map<string, Written>();
  return (...of: T): Written => {
    const key = of.join("\0");
    const file = written.get(key) ?? write(mkdtempSync(join(shelf, "report-")), ...of);
    written.set(key, file);
    return file;
  };
}

/** `#/operators?sort=calls`. */
export function address(view: ViewId, params: Params = {}): string {
  const search = new URLSearchParams(Object.entries(params).map(([key, value]) => [key, String(value)]));
  const text = search.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Opens an address and waits until the page is still. */
export async function visit(page: Page, url: string): Promise<void> {
  // The same page with another hash would not be loaded anew.
  if (page.url() !== "about:blank") await page.goto("about:blank");
  await page.goto(url);
  await settled(page);
}

/** Goes to another place of the page that is open, as a link in it would. */
export async function turnTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(
    (to) =>
      new Promise<void>((done) => {
        if (location.hash === to) done();
        // The page has heard of it before we do: what was there before is not taken for what comes.
        addEventListener("hashchange", () => done(), { once: true });
        location.hash = to;
      }),
    hash,
  );
  await settled(page);
}

/** The list of runs has come, nothing is awaited, the frames are drawn. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main :is(.body, .empty, .trouble)").first().waitFor();
  await idle(page);
}

/** Nothing is awaited, the frames are drawn, and the test knows the page's URL. */
export async function idle(page: Page): Promise<void> {
  // Behind another page of the same window the browser draws one frame per second.
  if (page.context().pages().length > 1) await page.bringToFront();
  // Twice: what has just been drawn may ask for more.
  await page.evaluate(() => window.stepscopeIdle());
  await page.evaluate(() => window.stepscopeIdle());
  // The browser tells of a changed hash by a message of its own, which may come after the answer.
  await expect.poll(async () => page.url() === (await page.evaluate(() => location.href))).toBe(true);
}

/** The parameters in the page's address. */
export function params(page: Page): Record<string, string> {
  const text = new URL(page.url()).hash.split("?")[1] ?? "";
  return Object.fromEntries(new URLSearchParams(text));
}
