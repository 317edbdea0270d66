// Hooks that ask the source and keep the last answer while a new one is on its way.

import { useEffect, useState } from "preact/hooks";
import { isAbort, problemOf } from "../data/source.ts";
import type { Answer, Options, Problem } from "../data/types.ts";
import type { Answers } from "../data/wire.ts";
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

/** The commands that may answer in this form. */
type CommandOf<A> = { [C in keyof Answers]: A extends Answers[C] ? C : never }[keyof Answers];

/** A command's answer for the run looked at. Name the form that the options ask for: `useAsk<WaitsAnswer>("waits")`. */
export function useAsk<A extends Answers[keyof Answers]>(
  command: CommandOf<A>,
  options: Options = {},
  when = true,
): Loaded<A> {
  return useAsked<A>(command, options, when);
}

/** The answer to any question, whatever it holds. */
export function useAnyAnswer(command: string, options: Options = {}): Loaded<Answer> {
  return useAsked<Answer>(command, options, true);
}

function useAsked<A>(command: string, options: Options, when: boolean): Loaded<A> {
  const run = runId.value;
  const key = run === undefined || !when ? undefined : JSON.stringify([run, command, options]);
  return useLoaded<A>(key, (signal) => source.ask(run ?? 0, command, options, signal) as Promise<A & Answer>);
}
