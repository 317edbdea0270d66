#!/usr/bin/env node
// The browser benchmark: what `stepscope view` promises, measured in Chromium, and its rivals beside it.

import { existsSync, writeFileSync } from "node:fs";
import { browserFacts, launch, warmUp } from "./browser.mjs";
import { endAll, isEnding, watchSignals } from "./ending.mjs";
import { machineFacts, say } from "./machine.mjs";
import { coldStart, VIEWS } from "./measures/first.mjs";
import { session } from "./measures/session.mjs";
import { HELP, readOptions, repeatsFor } from "./options.mjs";
import { broken, render } from "./report.mjs";
import { race } from "./rivals/race.mjs";
import { gatherTraces } from "./traces.mjs";

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (!existsSync(options.bin))
    throw new Error(`no stepscope at ${options.bin}: build it, or name it with --bin`);
  const { found, missing } = gatherTraces(options);
  for (const words of missing) say(`left out: ${words}`);
  if (found.length === 0)
    throw new Error("no trace: name one with --trace or STEPSCOPE_LARGE_TRACE, or give --events");
  const data = {
    machine: machineFacts(options.bin),
    browser: await browserFacts(options),
    missing,
    traces: [],
  };
  for (const trace of found) {
    data.traces.push(await measure(options, trace));
    if (options.json) writeFileSync(options.json, `${JSON.stringify(data, null, 1)}\n`);
  }
  process.stdout.write(`${render(data)}\n`);
  const failures = broken(data);
  for (const words of failures) say(`limit not kept: ${words}`);
  return options.check && failures.length > 0 ? 1 : 0;
}

/** All of one trace. What fails is said in the report; the other traces are still measured. */
async function measure(options, trace) {
  const result = { name: trace.name, bytes: trace.bytes, events: 0 };
  const wanted = (part) => options.only.includes(part);
  try {
    // The first look also warms the page cache, for stepscope and for its rivals.
    const { browser, close } = await launch(options);
    await warmUp(browser);
    result.events = await eventsOf(options, browser, trace);
    if (wanted("first"))
      result.first = await coldStarts(options, browser, trace, repeatsFor(options, result.events));
    await close();
    if (wanted("session")) {
      const own = await launch(options);
      result.session = await session(options, own.browser, trace);
      await own.close();
    }
    if (wanted("rivals") && options.rivals.length > 0) result.race = await race(options, trace);
  } catch (error) {
    // The process is about to end; nothing new may be started.
    if (isEnding()) await new Promise(() => {});
    result.problem = error.message.split("\n")[0];
    say(`${trace.name}: ${error.stack}`);
    await endAll();
  }
  return result;
}

/** How many events the file holds, as the server counts them. */
async function eventsOf(options, browser, trace) {
  const { events } = await coldStart(options, browser, trace, "timeline");
  return events;
}

async function coldStarts(options, browser, trace, times) {
  const runs = Object.fromEntries(Object.keys(VIEWS).map((view) => [view, []]));
  for (let i = 0; i < times; i++) {
    for (const view of Object.keys(VIEWS)) {
      say(`${trace.name}: cold start, ${view}, ${i + 1} of ${times}`);
      runs[view].push(await coldStart(options, browser, trace, view));
    }
  }
  return runs;
}

watchSignals();
try {
  process.exitCode = await main();
} catch (error) {
  say(error.message);
  process.exitCode = 2;
} finally {
  await endAll();
}
