import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { changeColor, contrast, hashOf, parse, readable } from "../../src/views/flame/color.ts";

const TOKENS = readFileSync(new URL("../../src/tokens.css", import.meta.url), "utf8");
const [LIGHT = "", DARK = ""] = TOKENS.split(':root[data-theme="dark"]');
const token = (block: string, name: string) => new RegExp(`${name}: (#[0-9a-f]+)`).exec(block)?.[1] ?? "";

test.each([
  ["light", LIGHT],
  ["dark", DARK],
])("labels can be read on every category, lighter or darker (%s)", (_, block) => {
  const inks: [ReturnType<typeof parse>, ReturnType<typeof parse>] = [
    parse(token(block, "--select")),
    parse(token(block, "--on-accent")),
  ];
  for (let category = 0; category < 16; category++) {
    const base = parse(token(block, `--cat-${category}`));
    for (const by of [-0.14, 0, 0.14]) {
      const towards = by > 0 ? 255 : 0;
      const shade = base.map((v) => v + (towards - v) * Math.abs(by)) as ReturnType<typeof parse>;
      const { fill, text } = readable(shade, inks);
      expect(contrast(fill, text)).toBeGreaterThanOrEqual(4.5);
    }
  }
});

test("colors are read as the style sheet may write them", () => {
  expect(parse("#fff")).toEqual([255, 255, 255]);
  expect(parse("#009e73")).toEqual([0, 158, 115]);
  expect(parse("rgb(11 92 173 / 14%)")).toEqual([11, 92, 173]);
});

test("a name's step of lightness does not depend on anything else", () => {
  expect(hashOf("aten::mm")).toBe(hashOf("aten::mm"));
  expect(new Set(["a", "b", "c", "aten::mm", "aten::addmm"].map(hashOf)).size).toBe(5);
});

test("a change is colored between less, the same and more", () => {
  const ends: Parameters<typeof changeColor>[1] = [
    [0, 0, 200],
    [100, 100, 100],
    [200, 100, 0],
  ];
  expect(changeColor(0, ends)).toEqual([100, 100, 100]);
  expect(changeColor(1, ends)).toEqual([200, 100, 0]);
  expect(changeColor(-1, ends)).toEqual([0, 0, 200]);
  expect(changeColor(-0.5, ends)).toEqual([50, 50, 150]);
});
