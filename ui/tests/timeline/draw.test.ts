import { describe, expect, it } from "vitest";
import { type Image, raster } from "../../src/draw/canvas.ts";
import { contrast, parseColor, unpack } from "../../src/draw/color.ts";
import { AREA, areaCell, DrawList, FLAT, flatCell } from "../../src/draw/list.ts";
import { makePalette, slot, wantsDarkText } from "../../src/draw/palette.ts";
import { Fitter } from "../../src/draw/text.ts";

const WHITE = { r: 255, g: 255, b: 255 };
const RED = 0x0000ff;

function image(width: number, height: number): Image {
  return { width, height, pixels: new Uint32Array(width * height) };
}
const at = (picture: Image, x: number, y: number) => unpack(picture.pixels[y * picture.width + x]!);

describe("painting without a GPU", () => {
  it("stretches a line of cells to the strip's height, within its bounds", () => {
    const list = new DrawList();
    list.clear(10, 1);
    list.strip(FLAT, 2, 6, 4, 20);
    list.fill(3, 5, flatCell(RED, 255, false));
    const picture = image(10, 10);
    raster(list, picture, WHITE);
    expect(at(picture, 3, 5)).toEqual({ r: 255, g: 0, b: 0 });
    expect(at(picture, 4, 7)).toEqual({ r: 255, g: 0, b: 0 });
    expect(at(picture, 5, 5)).toEqual(WHITE);
    expect(at(picture, 3, 3)).toEqual(WHITE);
    expect(at(picture, 3, 8)).toEqual(WHITE);
  });

  it("blends by opacity", () => {
    const list = new DrawList();
    list.clear(4, 1);
    list.strip(FLAT, 0, 4, 0, 4);
    list.fill(0, 4, flatCell(0x000000, 128, false));
    const picture = image(4, 4);
    raster(list, picture, WHITE);
    expect(at(picture, 1, 3).r).toBeGreaterThan(120);
    expect(at(picture, 1, 3).r).toBeLessThan(135);
  });

  it("stripes only what is striped, with two tones along every line", () => {
    const list = new DrawList();
    list.clear(24, 1);
    list.strip(FLAT, 0, 20, 0, 20);
    list.fill(0, 12, flatCell(RED, 255, true));
    list.fill(12, 24, flatCell(RED, 255, false));
    const picture = image(24, 20);
    raster(list, picture, WHITE);
    for (let y = 0; y < 20; y++) {
      const tones = new Set(Array.from({ length: 12 }, (_, x) => at(picture, x, y).r));
      expect(tones.size).toBe(2);
      for (let x = 12; x < 24; x++) expect(at(picture, x, y).r).toBe(255);
    }
  });

  it("draws areas up from their foot and lines over a stretch", () => {
    const list = new DrawList();
    list.clear(6, 1);
    list.strip(AREA, 0, 10, 0, 10, RED);
    list.fill(0, 3, areaCell(0.3, 0.5));
    list.solid(5, 6, 0, 10, 0xff00ff00);
    const picture = image(6, 10);
    raster(list, picture, WHITE);
    expect(at(picture, 1, 4)).toEqual(WHITE);
    expect(at(picture, 1, 5).g).toBeLessThan(60);
    expect(at(picture, 1, 6).g).toBeGreaterThan(at(picture, 1, 9).g);
    expect(at(picture, 4, 9)).toEqual(WHITE);
    expect(at(picture, 5, 0)).toEqual({ r: 0, g: 255, b: 0 });
  });
});

describe("colors", () => {
  it("reads what CSS writes", () => {
    expect(parseColor("#0b5cad")).toEqual({ r: 11, g: 92, b: 173, a: 1 });
    expect(parseColor(" rgb(11 92 173 / 14%)")).toEqual({ r: 11, g: 92, b: 173, a: 0.14 });
    expect(parseColor("rgba(1, 2, 3, 0.5)")).toEqual({ r: 1, g: 2, b: 3, a: 0.5 });
    expect(parseColor("#fff")).toEqual({ r: 255, g: 255, b: 255, a: 1 });
  });

  it("picks text that reads well on every color of both themes", async () => {
    const { readFileSync } = await import("node:fs");
    const css = readFileSync(new URL("../../src/tokens.css", import.meta.url), "utf8");
    const dark = css.indexOf('[data-theme="dark"]');
    for (const part of [css.slice(0, dark), css.slice(dark)]) {
      const read = (variable: string) => new RegExp(`${variable}: ([^;]+);`).exec(part)?.[1] ?? "";
      const palette = makePalette((variable) => read(variable) || "#000000");
      for (let category = 0; category < 16; category++)
        for (let shade = 0; shade < 5; shade++) {
          const color = unpack(palette.slices[slot(category, shade)]!);
          const text = wantsDarkText(palette, slot(category, shade), 1) ? "#000000" : "#ffffff";
          expect(contrast(color, parseColor(text))).toBeGreaterThanOrEqual(4.5);
        }
    }
  });
});

describe("fitting text", () => {
  const fitter = new Fitter((text) => [...text].length * 10);

  it("keeps what fits, cuts what does not, and never in the middle of a character", () => {
    expect(fitter.fit("abcd", 40)).toBe("abcd");
    expect(fitter.fit("abcdef", 45)).toBe("abc…");
    expect(fitter.fit("ab", 15)).toBe("");
    const cut = fitter.fit("a😀😀😀😀", 40);
    expect(cut).toBe("a😀😀…");
  });

  it("takes no longer for endless names", () => {
    const began = performance.now();
    for (let i = 0; i < 1000; i++) fitter.fit("x".repeat(5000), 300 + (i % 7));
    expect(performance.now() - began).toBeLessThan(500);
  });
});
