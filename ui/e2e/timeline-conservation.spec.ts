// Nothing is lost on the way from the file to the screen.

import type { Layout } from "../src/data/types.ts";
import type { InfoAnswer } from "../src/data/wire.ts";
import { ask } from "./support/cli.ts";
import { readTrace } from "./support/events.ts";
import { expect, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import { keysOf, readTiles, wholeLevel } from "./support/tiles.ts";
import { stats } from "./support/timeline.ts";

const SOME = { gpt: TRACES.gpt, stacks: TRACES.stacks, nccl: TRACES.nccl, streams: TRACES.streams };
/** Levels below the one whose single tile holds all. */
const FINER = [0, 1, 4, 7];
const AT_ONCE = 200;

for (const [name, trace] of Object.entries(SOME)) {
  test(`the ledger of ${name} closes`, async ({ serve }) => {
    const layout = await (await serve(trace)).json<Layout>("api/r/0/timeline");
    const { info } = ask<InfoAnswer>("info", trace);
    const { ledger } = layout;
    expect(readTrace(trace).traceEvents.length).toBe(ledger.events_in_file);
    expect(ledger).toMatchObject({
      events_in_file: info.ledger.events_in_file,
      slices: info.ledger.slices,
      points: info.ledger.points,
      flows: info.ledger.flows,
    });
    const { joined_pairs, set_aside } = info.ledger;
    expect(ledger.slices + ledger.points + ledger.flows + joined_pairs + set_aside).toBe(ledger.events_in_file);
    expect(ledger.drawn_slices).toBe(ledger.slices);
    expect(ledger.drawn_points + ledger.metadata_points + ledger.counter_points).toBe(ledger.points);
    const drawn = layout.groups.filter((group) => !group.derived).flatMap((group) => group.rows);
    const counts = drawn.map((row) => layout.rows[row]?.count ?? 0);
    expect(sum(counts)).toBe(ledger.drawn_slices + ledger.drawn_points);
  });

  test(`the tiles of ${name} hold every slice once, at every level`, async ({ serve }) => {
    const server = await serve(trace);
    const layout = await server.json<Layout>("api/r/0/timeline");
    const top = wholeLevel(layout.extent_ns);
    for (const finer of FINER) {
      const level = top - finer;
      const found = layout.rows.map(() => 0);
      const keys = layout.rows.flatMap((row) => keysOf(row.id, level, layout.extent_ns));
      for (let at = 0; at < keys.length; at += AT_ONCE) {
        const some = keys.slice(at, at + AT_ONCE);
        const response = await server.get(`api/r/0/tiles?t=${some.join(",")}`);
        const tiles = readTiles(await response.arrayBuffer());
        expect(tiles.map((tile) => `${tile.row}.${tile.level}.${tile.index}`)).toEqual(some);
        for (const tile of tiles)
          found[tile.row] = (found[tile.row] ?? 0) + sum(tile.items.map((item) => item.count));
      }
      expect(found, `level ${level}`).toEqual(layout.rows.map((row) => row.count));
    }
  });

  test(`the screen shows every slice of ${name}`, async ({ page, open, serve }) => {
    const layout = await (await serve(trace)).json<Layout>("api/r/0/timeline");
    // High enough for all rows at once.
    await page.setViewportSize({
      width: 1440,
      height: 400 + 30 * layout.rows.length + 60 * layout.groups.length,
    });
    await open(trace, "timeline");
    await page.keyboard.press("Digit0");
    const { rows, shown, counted, drawCalls, quads, backend } = await stats(page);
    const filled = layout.rows.filter((row) => row.count > 0);
    expect([...rows].sort((a, b) => a - b)).toEqual(filled.map((row) => row.id));
    expect(shown + counted).toBe(sum(filled.map((row) => row.count)));
    expect(quads).toBeGreaterThan(filled.length);
    expect(drawCalls).toBeLessThanOrEqual(6);
    expect(backend).toBe("webgl2");
  });
}

test("zoomed in, every slice is shown by itself", async ({ page, open, serve }) => {
  const layout = await (await serve(TRACES.gpt)).json<Layout>("api/r/0/timeline");
  const from = Math.round(layout.extent_ns / 2);
  await page.setViewportSize({ width: 1440, height: 3000 });
  await open(TRACES.gpt, "timeline", { from, to: from + 100_000 });
  const { shown, counted } = await stats(page);
  expect(shown).toBeGreaterThan(0);
  expect(counted).toBe(0);
});

test("without a GPU the same is drawn", async ({ page, open }) => {
  await open(TRACES.gpt, "timeline");
  const gl = await stats(page);
  await open(TRACES.gpt, "timeline", { gl: 0 });
  const canvas = await stats(page);
  expect(gl.backend).toBe("webgl2");
  expect(canvas.backend).toBe("canvas2d");
  expect(canvas.quads).toBe(gl.quads);
  expect([canvas.shown, canvas.counted]).toEqual([gl.shown, gl.counted]);
  expect(canvas.rows).toEqual(gl.rows);
});

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
