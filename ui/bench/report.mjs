// The measurements as Markdown, with what was promised beside them. Pure.

import { count, median, ms, percentile, size } from "./numbers.mjs";

/** A limit is for traces up to `events`; without it, for all. */
export const LIMITS = {
  firstMs: { most: 2000, events: 750_000 },
  bytes: { most: 2e6 },
  memory: { most: 200e6 },
  drawCalls: { most: 6 },
  longTaskMs: { most: 50 },
  clickMs: { most: 100 },
  searchMs: { most: 300 },
};

/** `value` against a limit, for a trace of so many events: kept, or not, or nothing was promised. */
export function verdict(limit, value, events) {
  if (!limit || (limit.events !== undefined && events > limit.events)) return { kept: undefined, words: "" };
  if (value === undefined) return { kept: undefined, words: "not measured" };
  const kept = value <= limit.most;
  return { kept, words: kept ? "reached" : "**not reached**" };
}

/** Each line of a trace's table: what, figure, limit, value that is judged, note. */
export function lines(trace) {
  const all = [...firstLines(trace), ...sessionLines(trace)];
  return all.map(({ what, figure, limit, shown, value, note }) => {
    const { kept, words } = verdict(limit, value, trace.events);
    const promised = kept === undefined ? "-" : `≤ ${shown(limit.most)}`;
    return { what, figure, promised, kept, words, note: note ?? "" };
  });
}

function firstLines({ first }) {
  return Object.entries(first ?? {}).flatMap(([view, runs]) => {
    const times = runs.map((run) => run.firstMs);
    const bytes = Math.max(...runs.map((run) => run.bytes));
    const seen = view === "timeline" ? "first slices drawn" : "first figures shown";
    const requests = Math.max(...runs.map((run) => run.requests));
    return [
      {
        what: `${view}: ${seen}, from the start of the program`,
        figure: ms(median(times)),
        limit: LIMITS.firstMs,
        shown: ms,
        value: median(times),
        note: `median of ${times.length}, ${ms(Math.min(...times))} to ${ms(Math.max(...times))}; at rest after ${ms(median(runs.map((run) => run.restMs)))}`,
      },
      {
        what: `${view}: bytes until at rest`,
        figure: size(bytes),
        limit: LIMITS.bytes,
        shown: size,
        value: bytes,
        note: `${requests} requests, page and headers included`,
      },
    ];
  });
}

function sessionLines({ session }) {
  if (!session) return [];
  return [...motionLines(session.motion), ...askLines(session), ...memoryLines(session)];
}

function motionLines(motion) {
  const longest = Math.max(0, ...motion.longTasks);
  return [
    {
      what: "draw calls a frame, most",
      figure: String(motion.drawCalls),
      limit: LIMITS.drawCalls,
      shown: String,
      value: motion.drawCalls,
      note: `${count(motion.drawnFrames)} frames, up to ${count(motion.quads)} rectangles, ${motion.backend}`,
    },
    {
      what: "longest task while panning and zooming",
      figure: longest > 0 ? ms(longest) : "none over 50 ms",
      limit: LIMITS.longTaskMs,
      shown: ms,
      value: longest,
      note: `${motion.longTasks.length} over 50 ms in ${motion.seconds.toFixed(1)} s of W, S, A, D held and the wheel`,
    },
    {
      what: "script of a frame, p50 / p95 / most",
      figure: [0.5, 0.95, 1].map((share) => ms(percentile(motion.scriptMs, share))).join(" / "),
      note: "layout, draw calls and labels; without the compositor",
    },
    {
      what: "between two frames, p50 / p95 / most",
      figure: [0.5, 0.95, 1].map((share) => ms(percentile(motion.between, share))).join(" / "),
      note: "the browser's own frames, software rendering included where there is no GPU",
    },
  ];
}

function askLines({ clicks, searches, area, views }) {
  const drawn = clicks.map((one) => one.drawnMs);
  const worst = [...searches].sort((a, b) => b.askedMs - a.askedMs)[0];
  const typed = Math.max(...searches.map((one) => one.typedMs));
  return [
    {
      what: "click on a slice to its details drawn",
      figure: ms(median(drawn)),
      limit: LIMITS.clickMs,
      shown: ms,
      value: median(drawn),
      note: `median of ${drawn.length}, slowest ${ms(percentile(drawn, 1))}; in the document after ${ms(median(clicks.map((one) => one.shownMs)))}`,
    },
    {
      what: "search, from asking to the count drawn",
      figure: ms(worst?.askedMs),
      limit: LIMITS.searchMs,
      shown: ms,
      value: worst?.askedMs,
      note: `slowest of ${searches.length} (\`${worst?.text}\`, ${count(worst?.hits ?? 0)} hits); median ${ms(median(searches.map((one) => one.askedMs)))}; in the document after at most ${ms(Math.max(...searches.map((one) => one.shownMs)))}; the server alone ${ms(median(searches.map((one) => one.apiMs)))}, at most ${ms(Math.max(...searches.map((one) => one.apiMs)))}; from typing on, with the wait for more keys, at most ${ms(typed)}`,
    },
    { what: "area over the whole trace to its table drawn", figure: ms(area.ms), note: area.text },
    {
      what: "slowest view to be at rest",
      figure: ms(Math.max(...Object.values(views))),
      note: Object.entries(views)
        .map(([view, time]) => `${view} ${ms(time)}`)
        .join(", "),
    },
  ];
}

function memoryLines({ memory, server, ledger }) {
  const page = memory.heap.scriptBytes + memory.heap.outsideBytes;
  const events = ledger.events_in_file;
  return [
    {
      what: "page memory: script heap and buffers",
      figure: size(page),
      limit: LIMITS.memory,
      shown: size,
      value: page,
      note: `after the tour and a collection; heap ${size(memory.heap.scriptBytes)}, before it ${size(memory.before.scriptBytes)}; ${count(memory.heap.nodes)} nodes, ${count(memory.heap.listeners)} listeners`,
    },
    {
      what: `page memory: the page's process (${memory.process.kind})`,
      figure: size(memory.process.bytes),
      limit: LIMITS.memory,
      shown: size,
      value: memory.process.bytes,
      note: `after the tour and a collection; ${size(memory.process.fileBytes)} of it is the browser's own code; most seen in the tour, garbage included: ${size(memory.peak)}`,
    },
    {
      what: "server memory (RSS)",
      figure: size(server.rss),
      note: `${((server.rss ?? 0) / Math.max(events, 1)).toFixed(0)} bytes an event; most ever ${size(server.peakRss)}`,
    },
  ];
}

function row(cells) {
  return `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|").replace(/\s+/g, " ")).join(" | ")} |`;
}

function rivalRows(entries) {
  const own = entries.find((one) => one.id === "stepscope")?.firstMs;
  return entries.map((one) => {
    const ratio = own && one.firstMs ? `${(one.firstMs / own).toFixed(1)}x` : "-";
    const heap = one.heap && one.heap.scriptBytes + one.heap.outsideBytes;
    return row([
      one.title,
      one.firstMs === undefined ? "-" : ms(one.firstMs),
      ratio,
      size(one.process?.bytes),
      size(one.peakRss || undefined),
      size(heap),
      size(one.bytes),
      [one.why, one.words].filter(Boolean).join("; "),
    ]);
  });
}

const METHOD = `A cold start spawns the program and opens a page with nothing cached in a browser that already runs; the trace
lies in the page cache of the system. "Drawn" is the end of the frame's callbacks after the change. Page memory is
given twice: what the page's script holds, and its whole process, which holds the browser's own code too.`;

const RACE = [
  "One question for all: when does a large canvas first show more than its ground? Asked every 100 ms. Stepscope counts from the start of its program, rivals from the request of their page, which is served from this machine.",
  "A tool that draws within 15 s runs three times; the run with the median time is shown. The others run once.",
  "Memory and bytes are those of the moment after drawing; stepscope's server is not in its page's process (see above).",
  "speedscope draws one thread at a time. It refuses traces that name a process or thread in words, as PyTorch's do, so it is also given a copy with numbers instead.",
  "Perfetto draws folded processes first, from a trace processor in WebAssembly. With its native one it would be quicker; no package of npm or PyPI was found to hold that.",
  "Catapult's trace viewer reads all of the trace in the page and draws all rows.",
];

export function render(data) {
  const { machine, browser } = data;
  const out = [
    `${machine.processor}, ${machine.cores} cores, ${(machine.memoryBytes / 1e9).toFixed(1)} GB, ${machine.system}`,
    "",
    `Chromium ${browser.version} without a window, ${browser.viewport.width} x ${browser.viewport.height}, WebGL2 by ${browser.renderer}; an empty page's process holds ${size(browser.emptyPage.bytes)} (${browser.emptyPage.kind}). Node ${machine.node}, stepscope ${machine.stepscope}.`,
    "",
  ];
  if (machine.load > 0.5 * machine.cores) {
    out.push(
      `The machine was busy (load ${machine.load.toFixed(1)} on ${machine.cores} cores): the times are too long.`,
      "",
    );
  }
  for (const words of data.missing) out.push(`Left out: ${words}.`, "");
  out.push(METHOD, "");
  if (data.traces.some((trace) => trace.race)) out.push(...RACE.map((words) => `- ${words}`), "");
  for (const trace of data.traces) out.push(...traceSection(trace));
  return out.join("\n");
}

function traceSection(trace) {
  const out = [`### ${trace.name}: ${count(trace.events)} events, ${size(trace.bytes)} as a file`, ""];
  if (trace.problem) out.push(`**Failed:** ${trace.problem}`, "");
  const table = lines(trace);
  if (table.length > 0) {
    out.push(row(["measure", "figure", "limit", "", "note"]), "|---|---:|---:|---|---|");
    for (const one of table) out.push(row([one.what, one.figure, one.promised, one.words, one.note]));
    out.push("");
  }
  if (trace.race) {
    const heads = [
      "tool",
      "first slices drawn",
      "ratio",
      "page process",
      "its most (RSS)",
      "heap and buffers",
      "bytes",
      "note",
    ];
    out.push(row(heads), "|---|---:|---:|---:|---:|---:|---:|---|", ...rivalRows(trace.race), "");
  }
  return out;
}

/** Limits that were not kept. */
export function broken(data) {
  return data.traces.flatMap((trace) => [
    ...(trace.problem ? [`${trace.name}: ${trace.problem}`] : []),
    ...lines(trace)
      .filter((one) => one.kept === false)
      .map((one) => `${trace.name}: ${one.what}: ${one.figure}`),
  ]);
}
