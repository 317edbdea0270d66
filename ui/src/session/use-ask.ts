// Hooks that ask the source and keep the last answer while a new one is on its way.

import { useEffect, useState } from "preact/hooks";
import { isAbort, problemOf } from "../data/source.ts";
import type { Answer, Options, Problem } from "../data/types.ts";
import { busy } from "./busy.ts";
import { runId, source } from "./state.ts";

export interface Loaded<T> {
  /** The latest answer; the one before while a new one is awaited. */
  data: T | undefined;
  problem: Problem | undefined;
  /** A newer answer is awaited. */
  pending: boolean;
}

/** Asks again whenever `key` changes; `undefined` asks nothing. */
export function useLoaded<T>(key: string | undefined, ask: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, set] = useState<Loaded<T>>({ data: undefined, problem: undefined, pending: key !== undefined });
  // The key represents everything that `ask` closes over.
  useEffect(() => {
    if (key === undefined) return;
    const control = new AbortController();
    set((old) => ({ data: old.data, problem: undefined, pending: true }));
    busy(1);
    ask(control.signal)
      .then((data) => {
        if (!control.signal.aborted) set({ data, problem: undefined, pending: false });
      })
      .catch((error) => {
        if (isAbort(error) || control.signal.aborted) return;
        set((old) => ({ data: old.data, problem: problemOf(error), pending: false }));
      })
      .finally(() => busy(-1));
    return () => control.abort();
  }, [key]);
  return state;
}

/** A command's answer for the run looked at. Name what you expect: `useAsk<WaitsAnswer>("waits")`. */
export function useAsk<T extends object>(
  command: string,
  options: Options = {},
  when = true,
): Loaded<T & Answer> {
  const run = runId.value;
  const key = run === undefined || !when ? undefined : JSON.stringify([run, command, options]);
  return useLoaded(key, (signal) => source.ask(run ?? 0, command, options, signal) as Promise<T & Answer>);
}
