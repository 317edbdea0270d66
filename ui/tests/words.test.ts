// The words of the page: what reads as translated stays out of every text that a user sees.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const SRC = join(import.meta.dirname, "../src");

/** What not to write, and what to write instead. */
const WORDS: [pattern: RegExp, instead: string][] = [
  [/\d %/, "93%, without a blank"],
  [/\b(one|time|calls|waits|row|work) a (step|kernel|device|function|second)\b/i, "per step"],
  [/\bstands?\b|\btold\b|\bmended\b|\blaid\b|\bnot said\b/i, "is, shown, repaired, unknown"],
  [/\bfigures?\b/i, "number, metric"],
  [/\bfills\b/i, "memset"],
  [/\bthe address\b|\ban address that\b/i, "URL"],
  [/\bas a part of\b|\bits part of\b/i, "share"],
  [/colour|neighbour|centre\b|utilis|analys(e|ing)\b|modell/i, "American spelling"],
  [/\bin all\b/i, "in total"],
  [/\b(nobody|somebody)\b/i, "no one, or who it is"],
  [/\b(an?|one|each|per|every|last) look\b/i, "sample, check"],
];

/** The texts of a source: strings, templates and what is between tags. Names without a blank are no texts. */
function textsOf(source: string): string[] {
  const code = source
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "")
    .replace(/class=("[^"]*"|\{`[^`]*`\})/g, "")
    // A number takes the place of what is filled in.
    .replace(/\$\{[^{}`]*\}/g, "0");
  const found = [
    ...code.matchAll(/"((?:[^"\\\n]|\\.)*)"/g),
    ...code.matchAll(/`((?:[^`\\]|\\.)*)`/g),
    ...code.matchAll(/>([^<>{}=;()]+)</g),
  ];
  return found.map(([, text]) => (text ?? "").replace(/\s+/g, " ").trim()).filter((text) => text.includes(" "));
}

function complaints(file: string, source: string): string[] {
  return textsOf(source).flatMap((text) =>
    WORDS.filter(([pattern]) => pattern.test(text)).map(([, instead]) => `${file}: "${text}" (${instead})`),
  );
}

describe("what a user reads", () => {
  it("is plain American English", () => {
    const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.tsx?$/.test(name),
    );
    const sources = files.map((file) => [file, readFileSync(join(SRC, file), "utf8")] as const);
    expect(sources.flatMap(([, source]) => textsOf(source)).length).toBeGreaterThan(500);
    expect(sources.flatMap(([file, source]) => complaints(file, source))).toEqual([]);
  });

  it("is found wherever it is written", () => {
    const source = `
      // a comment stands here
      const a = "One row a kernel.";
      const b = \`saves ${"$"}{x} %\`;
      const c = <p>
        Where it stands
      </p>;`;
    expect(complaints("a.tsx", source)).toHaveLength(3);
  });
});
