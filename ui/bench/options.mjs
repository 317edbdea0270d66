// The command line of the browser benchmark.

import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
/** Traces made and rivals fetched; ignored by git. */
export const DATA = path.join(ROOT, "bench-data");
export const RIVALS = ["speedscope", "perfetto", "catapult"];
const PARTS = ["first", "session", "rivals"];

export const HELP = `usage: node ui/bench/run.mjs [options]

  --trace FILE      a trace to look at; may be given several times
  --events N,N      synthetic traces of so many events, made once (seed 1)
                    Without --trace and --events: $STEPSCOPE_LARGE_TRACE, then 1000000,10000000.
  --repeat N        cold starts of each view (default 5; 3 from five million events on)
  --only PARTS      of ${PARTS.join(",")}
  --rivals NAMES    of ${RIVALS.join(",")}; none for none (default all)
  --timeout S       a rival that has drawn nothing by then did not load (default 120)
  --bin FILE        stepscope (default $STEPSCOPE_BIN, else target/release/stepscope)
  --ui-dir FOLDER   serve the page from there instead of the one inside the program
  --port N          the first of 20 ports to use (default 7800)
  --chromium FILE   the browser (default $CHROMIUM, else one found)
  --angle NAME      ANGLE's back end; auto takes swiftshader where there is no /dev/dri (default auto)
  --json FILE       write all measurements there
  --shots FOLDER    a picture of each tool when it was found to have drawn
  --check           end with status 1 if a limit was not kept
  --help
`;

const NAMES = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"];
const BROWSERS = NAMES.map((name) => `/usr/bin/${name}`);

/** Reads the command line; throws an Error whose message is for the user. */
export function readOptions(argv, env = process.env) {
  const { values } = parseArgs({
    args: argv,
    options: {
      trace: { type: "string", multiple: true },
      events: { type: "string" },
      repeat: { type: "string" },
      only: { type: "string" },
      rivals: { type: "string" },
      timeout: { type: "string", default: "120" },
      bin: { type: "string" },
      "ui-dir": { type: "string" },
      port: { type: "string", default: "7800" },
      chromium: { type: "string" },
      angle: { type: "string", default: "auto" },
      json: { type: "string" },
      shots: { type: "string" },
      check: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const named = values.trace !== undefined || values.events !== undefined;
  const large = env.STEPSCOPE_LARGE_TRACE ? [env.STEPSCOPE_LARGE_TRACE] : [];
  return {
    traces: named ? (values.trace ?? []) : large,
    events: sizes(named ? (values.events ?? "") : "1000000,10000000"),
    repeat: values.repeat === undefined ? undefined : positive("--repeat", values.repeat),
    only: names("--only", values.only, PARTS),
    rivals: values.rivals === "none" ? [] : names("--rivals", values.rivals, RIVALS),
    timeoutMs: positive("--timeout", values.timeout) * 1000,
    bin: values.bin ?? env.STEPSCOPE_BIN ?? path.join(ROOT, "target/release/stepscope"),
    uiDir: values["ui-dir"],
    port: positive("--port", values.port),
    chromium: values.chromium ?? env.CHROMIUM ?? BROWSERS.find((file) => existsSync(file)),
    angle: values.angle === "auto" ? (existsSync("/dev/dri") ? undefined : "swiftshader") : values.angle,
    json: values.json,
    shots: values.shots,
    check: values.check,
    help: values.help,
  };
}

/** How many cold starts a trace of this size gets. */
export function repeatsFor(options, events) {
  return options.repeat ?? (events >= 5_000_000 ? 3 : 5);
}

function positive(option, text) {
  const value = Number(text.replaceAll("_", ""));
  if (!Number.isInteger(value) || value < 1) throw new Error(`${option} wants a whole number, not ${text}`);
  return value;
}

function sizes(text) {
  return text
    .split(",")
    .filter(Boolean)
    .map((one) => positive("--events", one));
}

function names(option, text, known) {
  if (text === undefined) return known;
  const chosen = text.split(",").filter(Boolean);
  const unknown = chosen.filter((one) => !known.includes(one));
  if (unknown.length > 0) throw new Error(`${option}: no such thing: ${unknown.join(", ")}`);
  return chosen;
}
