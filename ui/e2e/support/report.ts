// Reports: written by the program, opened without a network, unpacked by hand.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import type { BrowserContext } from "@playwright/test";
import { run } from "./cli.ts";
import { UI_DIR } from "./paths.ts";

/** A report, and what the program said about it. */
export interface Written {
  file: string;
  said: string;
}

/** `stepscope export --to html`; returns the file and what the program said. */
export function writeReport(folder: string, trace: string, ...options: string[]): Written {
  const file = join(folder, "report.html");
  const { status, stdout, stderr } = run("export", "--to", "html", "-o", file, ...options, trace);
  if (status !== 0) throw new Error(`no report: ${stderr}`);
  if (UI_DIR) putPage(file, UI_DIR);
  return { file, said: stdout + stderr };
}

/** `stepscope diff --html`; returns the file and what the program said. */
export function writeComparison(folder: string, before: string, after: string, ...options: string[]): Written {
  const file = join(folder, "comparison.html");
  const { status, stdout, stderr } = run("diff", before, after, "--html", file, ...options);
  if (status !== 0) throw new Error(`no report: ${stderr}`);
  if (UI_DIR) putPage(file, UI_DIR);
  return { file, said: stdout + stderr };
}

/** A report bears the page inside the program: a build under test takes its place, as it does on the server. */
function putPage(file: string, build: string): void {
  const part = (name: string) => readFileSync(join(build, name), "utf8");
  const html = readFileSync(file, "utf8")
    .replace(/<style>[\s\S]*?<\/style>/, () => `<style>${part("stepscope.css")}</style>`)
    .replace(
      /<script type="module">[\s\S]*?<\/script>/,
      () => `<script type="module">${part("stepscope.js")}</script>`,
    );
  writeFileSync(file, html);
}

export function urlOf(file: string): string {
  return pathToFileURL(file).href;
}

/** Everything but files is out of reach; what was asked for nonetheless is returned. */
export async function offline(context: BrowserContext): Promise<string[]> {
  const asked: string[] = [];
  await context.setOffline(true);
  await context.route(/^(?!file:|about:|data:)/, (route) => {
    asked.push(route.request().url());
    return route.abort();
  });
  return asked;
}

/** The sections of a report, as texts. */
export function sectionsOf(file: string): Map<string, string> {
  const html = readFileSync(file, "utf8");
  const sections = new Map<string, string>();
  for (const [, name, base64] of html.matchAll(
    /<script type="text\/plain" id="pack:([^"]+)">([^<]*)<\/script>/g,
  ))
    sections.set(name ?? "", gunzipSync(Buffer.from(base64 ?? "", "base64")).toString("utf8"));
  return sections;
}
