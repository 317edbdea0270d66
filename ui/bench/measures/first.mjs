// A cold start: the program is spawned, the page opened, until the first slices or figures are drawn.

import { clockOffset, countBytes, openPage, within } from "../browser.mjs";
import { startStepscope } from "../servers.mjs";
import { firstSeen, stillAt, watchPage } from "./watch.mjs";

const PATIENCE_MS = 180_000;

export const VIEWS = { timeline: "slices", overview: "figures" };

/** One start of the program and one of a view in an already started browser with nothing cached. */
export async function coldStart(options, browser, trace, view) {
  const { page, cdp, close } = await openPage(browser, watchPage, VIEWS[view]);
  const received = await countBytes(cdp);
  const server = await startStepscope(options, trace.path);
  try {
    await page.goto(`${server.url}#/${view}`);
    const seen = await within(PATIENCE_MS, page.evaluate(firstSeen), `${view} of ${trace.name}`);
    const atRest = await within(PATIENCE_MS, page.evaluate(stillAt), `${view} of ${trace.name} at rest`);
    const wire = received();
    const ahead = await clockOffset(page);
    return {
      events: await page.evaluate(eventsInFile),
      firstMs: seen - ahead - server.spawnedAt,
      restMs: atRest - ahead - server.spawnedAt,
      listeningMs: server.listeningMs,
      ...wire,
    };
  } catch (error) {
    throw server.explain(error);
  } finally {
    await close();
    await server.stop();
  }
}

async function eventsInFile() {
  const { runs } = await (await fetch("api/runs")).json();
  const layout = await (await fetch(`api/r/${runs[0].id}/timeline`)).json();
  return layout.ledger.events_in_file;
}
