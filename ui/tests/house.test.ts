// The house: which folder may import which, no file that imports itself by a detour, one way to name files and constants.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { VIEWS } from "../e2e/support/paths.ts";

const SRC = join(import.meta.dirname, "../src");

/** Folders, from the ground up, and what each may import; itself and the styles beside it always. */
const ARROWS: Record<string, readonly string[]> = {
  // Where data comes from and what it looks like; knows no page.
  data: [],
  // What the page is at: its run, its address, its commands, its theme; and hooks that ask for it.
  session: ["data"],
  // Rectangles on a canvas.
  draw: ["data"],
  // Tables, charts, numbers and tips that views share.
  parts: ["data", "session"],
  views: ["data", "session", "draw", "parts"],
  // The frame around the views.
  app: ["data", "session", "parts", "views"],
  // main.tsx
  "": ["session", "app"],
};

/** Views that may import another one: the rest know nothing of each other. */
const BETWEEN_VIEWS: Record<string, readonly string[]> = {
  // The frame of the tabs, each of which is a view of its own.
  diagnosis: ["critical-path", "data-loading", "idle", "launches", "roofline", "transfers", "waits", "what-if"],
  // What a GPU's memory held at one moment is a flame graph of bytes.
  memory: ["flame"],
  // Two runs as one flame graph, and two timelines that move together.
  compare: ["flame", "timeline"],
};

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" });
const sources = files.filter((name) => /\.tsx?$/.test(name));

/** What a source imports of ours, types included, by its path from `src`. */
function importsOf(file: string, text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const found = code.matchAll(/\b(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g);
  return [...found]
    .map(([, to]) => normalize(join(dirname(file), to ?? "")))
    .filter((to) => /\.tsx?$/.test(to));
}

const graph = new Map(sources.map((file) => [file, importsOf(file, readFileSync(join(SRC, file), "utf8"))]));

/** The first circle of arrows, as the files along it. */
function circleIn(arrows: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (file: string): string[] | undefined => {
    const at = way.indexOf(file);
    if (at >= 0) return [...way.slice(at), file];
    if (done.has(file)) return undefined;
    way.push(file);
    for (const next of arrows.get(file) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    way.pop();
    done.add(file);
    return undefined;
  };
  for (const file of arrows.keys()) {
    const circle = visit(file);
    if (circle) return circle;
  }
  return undefined;
}

const folderOf = (file: string) => (file.includes("/") ? file.split("/")[0]! : "");
const viewOf = (file: string) => (folderOf(file) === "views" ? file.split("/")[1] : undefined);

/** Arrows that the tables do not allow. */
function strays(arrows: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  for (const [from, targets] of arrows)
    for (const to of targets) {
      const [a, b] = [folderOf(from), folderOf(to)];
      const [view, other] = [viewOf(from), viewOf(to)];
      const inside = view === other || (view !== undefined && BETWEEN_VIEWS[view]?.includes(other ?? ""));
      const allowed = a === b ? a !== "views" || inside : ARROWS[a]?.includes(b);
      if (!allowed) found.push(`${from} imports ${to}`);
    }
  return found;
}

describe("the sources", () => {
  it("are all read, and import only what is there", () => {
    expect(graph.size).toBeGreaterThan(150);
    const missing = [...graph].flatMap(([from, targets]) =>
      targets.filter((to) => !graph.has(to)).map((to) => `${from} imports ${to}`),
    );
    expect(missing).toEqual([]);
  });

  it("import no file that imports them, by whatever detour", () => {
    expect(circleIn(graph)).toBeUndefined();
  });

  it("import only along the arrows between folders", () => {
    expect(strays(graph)).toEqual([]);
  });

  it("have arrows as the architecture says", () => {
    const text = readFileSync(join(SRC, "../../ARCHITECTURE.md"), "utf8");
    const table = text.slice(text.indexOf("| folder of the page |"));
    for (const [folder, targets] of Object.entries(ARROWS).filter(([folder]) => folder)) {
      const row = table.split("\n").find((line) => line.startsWith(`| \`${folder}/\` |`));
      expect(row, folder).toMatch(new RegExp(`\\| ${targets.join(", ") || "nothing"} \\|$`));
    }
  });

  it("lie in folders that the table names, and use each arrow in it", () => {
    expect([...new Set([...graph.keys()].map(folderOf))].sort()).toEqual(Object.keys(ARROWS).sort());
    const used = new Set(
      [...graph].flatMap(([from, all]) => all.map((to) => `${folderOf(from)} > ${folderOf(to)}`)),
    );
    const listed = Object.entries(ARROWS).flatMap(([from, all]) => all.map((to) => `${from} > ${to}`));
    expect(listed.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  it("run in no circle between folders", () => {
    expect(circleIn(new Map(Object.entries(ARROWS)))).toBeUndefined();
    expect(circleIn(new Map(Object.entries(BETWEEN_VIEWS)))).toBeUndefined();
  });
});

describe("every source", () => {
  it("opens with a sentence on what it is for", () => {
    const styles = files.filter((name) => name.endsWith(".css"));
    const first = (file: string) => readFileSync(join(SRC, file), "utf8").split("\n", 1)[0] ?? "";
    const mute = [...sources, ...styles].filter((file) => !/^(\/\/|\/\*) \S+ \S+/.test(first(file)));
    expect(mute).toEqual([]);
  });

  it("is short enough to be read at one go", () => {
    // Written by a test of the server, a type at a time: no one reads it from top to bottom.
    const written = sources.filter((file) => file !== "data/wire.ts");
    const long = written.filter((file) => readFileSync(join(SRC, file), "utf8").split("\n").length > 600);
    expect(long).toEqual([]);
  });
});

/** Constants of one word that are no quantities: columns and flags of a tile, its mark, and kinds of cells. */
const WORDS_ALONE: Record<string, readonly string[]> = {
  "data/tiles.ts": "BEYOND INSTANT START END ID NAME COUNT BUSY CATEGORY FLAGS MAGIC".split(" "),
  "draw/list.ts": ["FLAT", "AREA", "SOLID", "STRIPES"],
};

/** Constants whose names do not say what they bound or count, or in what unit. */
function vagueNames(file: string, text: string): string[] {
  const bounds = text.matchAll(/\bconst ((?:MOST|LEAST)(?:_[A-Z0-9_]+)?)\b/g);
  const numbers = text.matchAll(/\bconst ([A-Z]+)(?:: number)? = -?[\d.]/g);
  const names = new Set([...bounds, ...numbers].map(([, name]) => name!));
  return [...names].filter((name) => !WORDS_ALONE[file]?.includes(name)).map((name) => `${file}: ${name}`);
}

describe("the names of constants", () => {
  it("are MAX_ and MIN_ for bounds, and a noun with a unit for numbers", () => {
    const vague = sources.flatMap((file) => vagueNames(file, readFileSync(join(SRC, file), "utf8")));
    expect(vague).toEqual([]);
  });

  it("that may be one word are all in use", () => {
    const unused = Object.entries(WORDS_ALONE).flatMap(([file, names]) => {
      const text = readFileSync(join(SRC, file), "utf8");
      return names.filter((name) => !text.includes(`const ${name} = `));
    });
    expect(unused).toEqual([]);
  });
});

describe("the names of files", () => {
  it("are written in lower case, with hyphens between words", () => {
    const ours = [join(SRC), import.meta.dirname, join(import.meta.dirname, "../e2e")];
    const names = ours.flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }));
    expect(names.length).toBeGreaterThan(250);
    const odd = names.flatMap((path) => path.split("/")).filter((name) => !/^[a-z0-9][a-z0-9.-]*$/.test(name));
    expect(odd).toEqual([]);
  });
});

describe("the checks themselves", () => {
  it("see imports, types, re-exports and what spans lines", () => {
    const text = `
      import { a } from "./a.ts";
      import type {
        B,
      } from "../b/b.tsx";
      export { c } from "./c.ts";
      import "./style.css";
      // import { no } from "./no.ts";
      const later = import("./d.ts");`;
    expect(importsOf("x/file.ts", text)).toEqual(["x/a.ts", "b/b.tsx", "x/c.ts", "x/d.ts"]);
  });

  it("find a vague name", () => {
    const text = `const MOST = 3; export const LEAST_PX = WIDTH; const FAR = -0.5; const ALMOST_ALL = 2;
      const MAX_ROWS = 5; const NAMES = ["a"]; const START = 0;`;
    expect(vagueNames("data/tiles.ts", text)).toEqual(
      ["MOST", "LEAST_PX", "FAR"].map((name) => `data/tiles.ts: ${name}`),
    );
    expect(vagueNames("data/pack.ts", "const START = 0;")).toHaveLength(1);
  });

  it("find a circle and an arrow upwards", () => {
    const circle = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["b"]],
    ]);
    expect(circleIn(circle)).toEqual(["b", "c", "b"]);
    expect(strays(new Map([["data/a.ts", ["app/b.tsx"]]]))).toHaveLength(1);
    expect(strays(new Map([["views/kernels/a.ts", ["views/memory/b.ts"]]]))).toHaveLength(1);
    expect(strays(new Map([["views/kernels/a.ts", ["views/kernels/b.ts"]]]))).toEqual([]);
  });
});

it("the browser suite looks at every view", () => {
  const listed = readFileSync(join(SRC, "app/views.ts"), "utf8").matchAll(/\{ id: "([a-z-]+)"/g);
  expect(VIEWS).toEqual([...listed].map(([, id]) => id));
});
