// The dashboard of the period that the URL names, asked for again when something new was written.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ServiceDashboard, ServiceQuery } from "../../data/production-types.ts";
import type { Problem } from "../../data/types.ts";
import { source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { Refresher } from "./live.ts";
import { merged } from "./merge.ts";

/** How the connection that announces news is: there, or lost at a moment in milliseconds since 1970. */
export type Connection = { state: "connecting" } | { state: "open" } | { state: "lost"; since: number };

export interface Shown {
  data: ServiceDashboard | undefined;
  problem: Problem | undefined;
  /** What is shown answers an earlier question. */
  stale: boolean;
  connection: Connection;
}

export function useService(asked: ServiceQuery, follows: boolean, open: string | undefined): Shown {
  const [version, setVersion] = useState(0);
  const [connection, setConnection] = useState<Connection>({ state: "connecting" });
  const refresher = useMemo(
    () =>
      new Refresher({
        now: () => performance.now(),
        later(run, ms) {
          const timer = setTimeout(run, ms);
          return () => clearTimeout(timer);
        },
        ask: () => setVersion((old) => old + 1),
      }),
    [],
  );
  const question = JSON.stringify(asked);
  const key = `${version} ${question}`;
  const loaded = useLoaded(key, async (signal) => ({ question, data: await source.service(asked, signal) }));
  useEffect(() => refresher.asked(), [key]);
  useEffect(() => {
    if (!loaded.pending) refresher.answered();
  }, [loaded.pending, loaded.data, loaded.problem]);
  useEffect(() => refresher.follow(follows), [follows]);
  useEffect(() => listen(refresher, setConnection), []);

  const shown = useRef<{ question: string; data: ServiceDashboard; answer: object }>(undefined);
  const answer = loaded.data;
  if (answer && answer !== shown.current?.answer) {
    const old = shown.current?.question === answer.question ? shown.current.data : undefined;
    shown.current = { question: answer.question, data: merged(old, answer.data, open), answer };
  }
  return {
    data: shown.current?.data,
    problem: loaded.problem,
    stale: shown.current !== undefined && shown.current.question !== question,
    connection,
  };
}

/** Passes on what the server announces and whether the page is looked at; returns how to stop. */
function listen(refresher: Refresher, say: (connection: Connection) => void): () => void {
  const events = source.serviceEvents();
  const onShow = () => refresher.show(document.visibilityState === "visible");
  let wasLost = false;
  events?.addEventListener("open", () => {
    say({ state: "open" });
    // What was written meanwhile was not announced.
    if (wasLost) refresher.changed();
    wasLost = false;
  });
  events?.addEventListener("error", () => {
    if (!wasLost) say({ state: "lost", since: Date.now() });
    wasLost = true;
  });
  events?.addEventListener("changed", () => refresher.changed());
  document.addEventListener("visibilitychange", onShow);
  onShow();
  return () => {
    document.removeEventListener("visibilitychange", onShow);
    events?.close();
    refresher.stop();
  };
}
