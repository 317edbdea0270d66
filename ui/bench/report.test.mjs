import { expect, test } from "vitest";
import { summary } from "./measures/motion.mjs";
import { median, ms, percentile, size } from "./numbers.mjs";
import { readOptions, repeatsFor } from "./options.mjs";
import { broken, LIMITS, lines, render, verdict } from "./report.mjs";
import { numbersForWords } from "./rivals/numbers.mjs";

function cold(firstMs, bytes) {
  return { firstMs, restMs: firstMs + 100, bytes, requests: 9, listeningMs: 5 };
}

function session(changes = {}) {
  const heap = { scriptBytes: 30e6, outsideBytes: 20e6, nodes: 900, listeners: 40 };
  return {
    ledger: { events_in_file: 1000 },
    motion: {
      seconds: 6,
      between: [16, 17],
      drawnFrames: 2,
      scriptMs: [2, 3],
      drawCalls: 2,
      quads: 500,
      longTasks: [],
      backend: "webgl2",
    },
    clicks: [
      { shownMs: 20, drawnMs: 40 },
      { shownMs: 30, drawnMs: 60 },
    ],
    searches: [{ text: "aten::", hits: 7, typedMs: 260, askedMs: 90, shownMs: 80, apiMs: 20 }],
    area: { ms: 80, text: "7 slices" },
    views: { overview: 120 },
    memory: { heap, before: heap, process: { bytes: 120e6, kind: "PSS", fileBytes: 60e6 }, peak: 130e6 },
    server: { rss: 5e6, peakRss: 6e6 },
    ...changes,
  };
}

function trace(changes = {}) {
  const first = { timeline: [cold(1500, 7e5), cold(1900, 7e5), cold(2500, 8e5)], overview: [cold(900, 4e5)] };
  return { name: "a.json.gz", bytes: 1e6, events: 1000, first, session: session(), ...changes };
}

test("percentiles", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([1, 2])).toBe(1.5);
  expect(percentile([10, 20, 30], 1)).toBe(30);
  expect(percentile([], 0.5)).toBeUndefined();
});

test("times and sizes read well", () => {
  expect([ms(3.06), ms(314.2), ms(3142), ms(120_000), ms(undefined)]).toEqual([
    "3.1 ms",
    "314 ms",
    "3.14 s",
    "120 s",
    "-",
  ]);
  expect([size(4321), size(2e6), size(undefined)]).toEqual(["4 kB", "2.0 MB", "-"]);
});

test("a limit is kept, broken, or not given", () => {
  expect(verdict(LIMITS.clickMs, 100, 1).kept).toBe(true);
  expect(verdict(LIMITS.clickMs, 100.1, 1).kept).toBe(false);
  expect(verdict(LIMITS.clickMs, undefined, 1)).toEqual({ kept: undefined, words: "not measured" });
  expect(verdict(undefined, 5, 1).kept).toBeUndefined();
  expect(verdict(LIMITS.firstMs, 9000, 10_000_000).kept).toBeUndefined();
});

test("everything promised is judged", () => {
  const judged = lines(trace()).filter((one) => one.kept !== undefined);
  expect(judged).toHaveLength(10);
  expect(judged.every((one) => one.kept)).toBe(true);
});

test("what breaks a limit is named", () => {
  const slow = session({
    motion: { ...session().motion, longTasks: [61, 55], drawCalls: 7 },
    searches: [
      { text: "a", hits: 1, typedMs: 200, askedMs: 40, shownMs: 30, apiMs: 10 },
      { text: "b", hits: 1, typedMs: 500, askedMs: 340, shownMs: 320, apiMs: 300 },
    ],
  });
  const data = { traces: [trace({ session: slow, first: { timeline: [cold(2100, 3e6)] } })] };
  expect(broken(data)).toEqual([
    "a.json.gz: timeline: first slices drawn, from the start of the program: 2.10 s",
    "a.json.gz: timeline: bytes until at rest: 3.0 MB",
    "a.json.gz: draw calls a frame, most: 7",
    "a.json.gz: longest task while panning and zooming: 61 ms",
    "a.json.gz: search, from asking to the count drawn: 340 ms",
  ]);
  expect(broken({ traces: [{ name: "b", problem: "the page crashed" }] })).toEqual(["b: the page crashed"]);
});

test("the report holds both tables", () => {
  const race = [
    { id: "stepscope", title: "stepscope view", firstMs: 1000, process: { bytes: 9e7 }, bytes: 7e5 },
    { id: "x", title: "a | b", why: "did not load within 120 s" },
    { id: "y", title: "y", firstMs: 2500 },
  ];
  const machine = {
    processor: "P",
    cores: 2,
    memoryBytes: 8e9,
    system: "Linux",
    node: "20",
    stepscope: "0.1.0",
    load: 3,
  };
  const browser = {
    version: "1",
    renderer: "R",
    viewport: { width: 1, height: 2 },
    emptyPage: { bytes: 3e7, kind: "PSS" },
  };
  const text = render({ machine, browser, missing: ["x: no such file"], traces: [trace({ race })] });
  expect(text).toContain("### a.json.gz: 1,000 events");
  expect(text).toContain(
    "| timeline: first slices drawn, from the start of the program | 1.90 s | ≤ 2.00 s | reached |",
  );
  expect(text).toContain("| a \\| b | - | - |");
  expect(text).toContain("| y | 2.50 s | 2.5x |");
  expect(text).toContain("The machine was busy");
  expect(text).toContain("Left out: x: no such file.");
});

test("frames in which nothing was drawn do not count", () => {
  const { between, drawnFrames, drawCalls, scriptMs } = summary([
    [0, 4, 9, 9, 1],
    [16, 4, 9, 9, 1],
    [32, 5, 2, 3, 1],
    [50, 6, 3, 4, 1],
  ]);
  expect(between).toEqual([16, 16, 18]);
  expect([drawnFrames, drawCalls, scriptMs]).toEqual([2, 3, [3, 4]]);
});

test("the command line", () => {
  const env = { STEPSCOPE_LARGE_TRACE: "large.json.gz", STEPSCOPE_BIN: "s" };
  expect(readOptions([], env)).toMatchObject({ traces: ["large.json.gz"], events: [1e6, 1e7], bin: "s" });
  expect(readOptions(["--events", "5_000"], env)).toMatchObject({ traces: [], events: [5000] });
  expect(readOptions(["--rivals", "none", "--trace", "a"], env)).toMatchObject({
    traces: ["a"],
    events: [],
    rivals: [],
  });
  expect(() => readOptions(["--rivals", "vampir"], env)).toThrow("no such thing: vampir");
  expect(() => readOptions(["--events", "many"], env)).toThrow("whole number");
  expect(repeatsFor(readOptions([], env), 10_000_000)).toBe(3);
  expect(repeatsFor(readOptions(["--repeat", "7"], env), 10)).toBe(7);
});

test("words in pid and tid become numbers, wherever the text is cut", async () => {
  const event =
    '{"ph": "X", "pid": "Spans", "tid": "PyTorch Profiler", "args": {"note": "\\"pid\\": \\"x\\""}}';
  const text = `[${event},\n{"pid": 5, "tid": "7"},\n${event}]`;
  for (const size of [1, 7, 64, 4096]) {
    const stream = numbersForWords();
    const out = stream.toArray();
    for (let at = 0; at < text.length; at += size) stream.write(text.slice(at, at + size));
    stream.end();
    const events = JSON.parse(Buffer.concat(await out).toString());
    expect(events.map(({ pid, tid }) => [pid, tid])).toEqual([
      [900_000_000, 900_000_001],
      [5, 7],
      [900_000_000, 900_000_001],
    ]);
    expect(events[0].args.note).toBe('"pid": "x"');
  }
});
