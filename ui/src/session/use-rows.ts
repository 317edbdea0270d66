// A command's table page by page, so that a million rows cost no more than those in sight.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Rows } from "../data/rows.ts";
import { isAbort, problemOf } from "../data/source.ts";
import type { Answer, Options, Problem } from "../data/types.ts";
import { busy } from "./busy.ts";
import { runId, source } from "./state.ts";

const PAGE_ROWS = 200;

export interface PagedRows<R> {
  rows: Rows<R> | undefined;
  /** The answer that came with the first page: totals and definitions. */
  answer: Answer | undefined;
  problem: Problem | undefined;
  pending: boolean;
}

/** The rows of one part of a command's answer: sorted and filtered by the server, fetched as they come into sight. */
export function useRows<R>(command: string, part: string, options: Options): PagedRows<R> {
  const run = runId.value;
  const key = JSON.stringify([run, command, part, options]);
  const [pages, setPages] = useState<{
    key: string;
    pages: Map<number, R[]>;
    total: number;
    answer: Answer | undefined;
  }>();
  const [problem, setProblem] = useState<Problem>();
  // The key represents run, command, part and options.
  const ask = useMemo(() => {
    const asked = new Set<number>();
    const control = new AbortController();
    const fetchPage = async (page: number) => {
      if (run === undefined || asked.has(page)) return;
      asked.add(page);
      busy(1);
      try {
        const paging = { part, offset: page * PAGE_ROWS, limit: PAGE_ROWS, top: 0 };
        const answer = await source.ask(run, command, { ...options, ...paging }, control.signal);
        if (control.signal.aborted) return;
        setProblem(undefined);
        setPages((old) => {
          const same = old?.key === key;
          const known = new Map(same ? old.pages : undefined).set(page, (answer[part] ?? []) as R[]);
          const total = Number(answer[`${part}_total`] ?? 0);
          return { key, pages: known, total, answer: same && old.answer ? old.answer : answer };
        });
      } catch (error) {
        asked.delete(page);
        if (!isAbort(error) && !control.signal.aborted) setProblem(problemOf(error));
      } finally {
        busy(-1);
      }
    };
    return { fetchPage, stop: () => control.abort() };
  }, [key]);
  useEffect(() => {
    void ask.fetchPage(0);
    return ask.stop;
  }, [ask]);
  const rows = useMemo<Rows<R> | undefined>(() => {
    if (!pages) return undefined;
    return {
      total: pages.total,
      at: (index) => pages.pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS],
      want(from, to) {
        for (let page = Math.floor(from / PAGE_ROWS); page * PAGE_ROWS < Math.min(to, pages.total); page++)
          void ask.fetchPage(page);
      },
    };
  }, [pages, ask]);
  return { rows, answer: pages?.answer, problem, pending: pages?.key !== key };
}
