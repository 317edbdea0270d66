// A page whose server is the test: the built page from its folder, the answers worked out here, the events as the test
// wants them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page, Route } from "@playwright/test";
import type { ServiceDashboard, ServiceQuery } from "../../src/data/production-types.ts";
import { REPO, UI_DIR } from "./paths.ts";
import { dashboardOf, type Staging } from "./service.ts";

const ORIGIN = "http://stepscope.test/";
const PAGE_DIR = UI_DIR ?? join(REPO, "crates/serve/dist");
const TYPES: Record<string, string> = { html: "text/html", js: "text/javascript", css: "text/css" };
/** As the server sends it: nothing inline may be needed. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'";

declare global {
  interface Window {
    /** Speaks as the server's stream of events would. */
    serviceEvents: { say(name: "open" | "error" | "changed"): void };
  }
}

export interface ServicePage {
  url: string;
  /** The questions that were asked about the service. */
  asked: ServiceQuery[];
  /** Questions about the list of runs. */
  looks: { many: number };
  /** What is answered from now on. */
  staging: Staging & { change?: (of: ServiceDashboard) => ServiceDashboard; gone?: boolean };
}

/** Lets the page believe that a server is there. */
export async function serveService(page: Page, staging: ServicePage["staging"] = {}): Promise<ServicePage> {
  const self: ServicePage = { url: ORIGIN, asked: [], looks: { many: 0 }, staging };
  await page.addInitScript(() => {
    const all = new Set<EventTarget>();
    class Events extends EventTarget {
      constructor() {
        super();
        all.add(this);
        setTimeout(() => this.dispatchEvent(new Event("open")));
      }
      close() {
        all.delete(this);
      }
    }
    Object.assign(window, {
      EventSource: Events,
      serviceEvents: {
        say(name: string) {
          for (const one of all) one.dispatchEvent(new Event(name));
        },
      },
    });
  });
  await page.route(`${ORIGIN}**`, (route) => answer(route, self));
  return self;
}

function answer(route: Route, self: ServicePage): Promise<void> {
  const url = new URL(route.request().url());
  if (self.staging.gone) return route.abort("connectionrefused");
  if (url.pathname === "/api/runs") {
    self.looks.many++;
    return route.fulfill({
      json: { version: "0.1.0", watching: false, runs: [], history: false, service: { name: "ranker" } },
    });
  }
  if (url.pathname === "/api/service") {
    const number = (name: string) =>
      url.searchParams.has(name) ? Number(url.searchParams.get(name)) : undefined;
    const asked: ServiceQuery = {
      last: url.searchParams.get("last") ?? undefined,
      from: number("from"),
      until: number("until"),
      route: url.searchParams.get("route") ?? undefined,
    };
    self.asked.push(asked);
    const of = dashboardOf(asked, self.staging);
    return route.fulfill({ json: self.staging.change?.(of) ?? of });
  }
  const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
  if (!/^(index\.html|stepscope\.(js|css))$/.test(name)) return route.fulfill({ status: 404, body: "" });
  return file(route, name, { "Content-Security-Policy": POLICY });
}

/** The page as a report: the dashboards lie inside it, and no one answers. */
export async function serveReport(page: Page): Promise<string> {
  const section = (name: string, value: unknown) =>
    `<script type="text/plain" id="pack:${name}">${gzipSync(JSON.stringify(value)).toString("base64")}</script>`;
  const dashboards = Object.fromEntries(
    ["", "/predict", "/embed"].map((route) => [
      route,
      { ...dashboardOf({ last: "6h", route: route || undefined }, { report: true }), newest_ns: null },
    ]),
  );
  const meta = {
    version: "0.1.0",
    watching: false,
    runs: [],
    service: { name: "ranker" },
    report: { made: "ranker", left_out: [] },
  };
  const html = readFileSync(join(PAGE_DIR, "index.html"), "utf8").replace(
    "<body>",
    `<body>${section("meta", meta)}${section("services", dashboards)}`,
  );
  await page.route(`${ORIGIN}**`, (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (name === "") return route.fulfill({ body: html, contentType: "text/html" });
    return /^stepscope\.(js|css)$/.test(name) ? file(route, name) : route.abort();
  });
  return ORIGIN;
}

function file(route: Route, name: string, headers: Record<string, string> = {}): Promise<void> {
  const contentType = TYPES[name.split(".").pop() ?? ""] ?? "text/plain";
  return route.fulfill({ body: readFileSync(join(PAGE_DIR, name)), contentType, headers });
}
