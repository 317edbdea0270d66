// Search: how many there are, which names, where; the next and the previous one.

import { isAbort, problemOf } from "../../data/source.ts";
import type { Hits, Ref } from "../../data/types.ts";
import { many } from "../../parts/format.ts";
import type { Actions } from "./actions.ts";
import { type Model, watched } from "./model.ts";

const WAIT_MS = 160;
/** Hits asked for at once. */
const PAGE_HITS = 1000;

/** The test that the server applies to names, for names that come later. */
export function matcher(text: string, exact: boolean): ((name: string) => boolean) | undefined {
  if (text === "") return undefined;
  if (exact) return (name) => name === text;
  const pattern = /^\/(.+)\/$/.exec(text)?.[1];
  if (pattern !== undefined) {
    try {
      const expression = new RegExp(pattern);
      return (name) => expression.test(name.length > 2000 ? name.slice(0, 2000) : name);
    } catch {
      return () => false;
    }
  }
  const low = text.toLowerCase();
  return (name) => name.toLowerCase().includes(low);
}

export class Finder {
  readonly #model: Model;
  readonly #actions: Actions;
  readonly #found: (refs: readonly Ref[]) => void;
  #control: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #near: AbortController | undefined;
  #nearTimer: ReturnType<typeof setTimeout> | undefined;
  #at: Ref | undefined;

  constructor(model: Model, actions: Actions, found: (refs: readonly Ref[]) => void) {
    this.#model = model;
    this.#actions = actions;
    this.#found = found;
  }

  /** The text changed: asks after a moment without typing. */
  ask(): void {
    clearTimeout(this.#timer);
    this.#control?.abort();
    const { text, exact } = this.#model.query.value;
    this.#at = undefined;
    this.#model.hitAt.value = undefined;
    if (text === "") {
      this.#show(undefined);
      return;
    }
    const control = new AbortController();
    this.#control = control;
    // Counted as under way from the first key on.
    void watched(
      new Promise<void>((done) => {
        control.signal.addEventListener("abort", () => done());
        this.#timer = setTimeout(() => void this.#search(text, exact, control.signal).then(done), WAIT_MS);
      }),
    );
  }

  async #search(text: string, exact: boolean, signal: AbortSignal): Promise<void> {
    try {
      const hits = await this.#page(0, text, exact, signal);
      if (signal.aborted) return;
      this.#show(hits);
      const names = hits.names.length + hits.names_more;
      this.#model.announcement.value = `${hits.total} found, ${many(names, "name")}`;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.#show(undefined);
      this.#model.searchProblem.value = problemOf(error);
    }
  }

  #page(after: number, text: string, exact: boolean, signal: AbortSignal): Promise<Hits> {
    const { source, run } = this.#model;
    const query = { q: text, order: "start" as const, after, limit: PAGE_HITS };
    return source.search(run, exact ? { ...query, exact } : query, signal);
  }

  #show(hits: Hits | undefined): void {
    const { names, query } = this.#model;
    const test = hits && matcher(query.value.text, query.value.exact);
    names.search(
      test,
      hits?.names.map((name) => name.id),
    );
    this.#model.searchProblem.value = undefined;
    this.#model.hits.value = hits;
    this.#found(hits?.hits ?? []);
    this.#model.redraw();
    this.moved();
  }

  /** The window moved: where there are more hits than one page, those near it are fetched. */
  moved(): void {
    clearTimeout(this.#nearTimer);
    const hits = this.#model.hits.value;
    if (!hits || hits.total <= hits.hits.length) return;
    this.#nearTimer = setTimeout(() => void this.#fetchNear(), WAIT_MS);
  }

  async #fetchNear(): Promise<void> {
    this.#near?.abort();
    const control = new AbortController();
    this.#near = control;
    const { text, exact } = this.#model.query.value;
    const after = Math.max(0, Math.floor(this.#model.view.from));
    try {
      const hits = await watched(this.#page(after, text, exact, control.signal));
      if (control.signal.aborted) return;
      this.#found(hits.hits);
      this.#model.redraw();
    } catch (error) {
      if (!isAbort(error)) this.#model.trouble.value = problemOf(error);
    }
  }

  /** Jumps to the next hit, or the previous; from the last one on to the first again. */
  async go(forward: boolean): Promise<void> {
    const hits = this.#model.hits.value;
    if (!hits || hits.total === 0) return;
    const control = new AbortController();
    this.#control?.abort();
    this.#control = control;
    try {
      const all = hits.total <= hits.hits.length ? hits.hits : undefined;
      const to = await watched(
        all ? Promise.resolve(this.#within(all, forward)) : this.#seek(forward, control.signal),
      );
      if (!to || control.signal.aborted) return;
      this.#at = to;
      this.#model.hitAt.value = all ? all.indexOf(to) + 1 : undefined;
      void this.#actions.jump(to.id, to);
    } catch (error) {
      if (!isAbort(error)) this.#model.searchProblem.value = problemOf(error);
    }
  }

  /** Where the search goes on from: the hit jumped to, else the left edge of the window. */
  #origin(): number {
    return this.#at?.start_ns ?? Math.max(0, this.#model.view.from);
  }

  #within(all: Ref[], forward: boolean): Ref | undefined {
    const at = all.findIndex((ref) => ref.id === this.#at?.id);
    if (at >= 0) return all[(at + (forward ? 1 : -1) + all.length) % all.length];
    const next = all.findIndex((ref) => ref.start_ns >= this.#origin());
    if (forward) return all[Math.max(0, next)];
    return all[next > 0 ? next - 1 : all.length - 1];
  }

  async #seek(forward: boolean, signal: AbortSignal): Promise<Ref | undefined> {
    const { text, exact } = this.#model.query.value;
    const page = async (after: number) => (await this.#page(after, text, exact, signal)).hits;
    const origin = this.#origin();
    if (forward) {
      const hits = await page(origin);
      const at = hits.findIndex((ref) => ref.id === this.#at?.id);
      return hits[at + 1] ?? (await page(0))[0];
    }
    return (await lastBefore(page, origin)) ?? (await lastBefore(page, this.#model.extent + 1));
  }

  close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#nearTimer);
    this.#control?.abort();
    this.#near?.abort();
  }
}

/** The last hit before a time, from pages that only go forward: looks back further and further, then closes in. */
export async function lastBefore(
  page: (after: number) => Promise<Ref[]>,
  before: number,
): Promise<Ref | undefined> {
  let high = before;
  let back = 1_000_000;
  let best: Ref | undefined;
  for (;;) {
    const after = Math.max(0, Math.floor(best ? (best.start_ns + high) / 2 : high - back));
    const hits = await page(after);
    const end = hits[hits.length - 1];
    const last = hits.filter((ref) => ref.start_ns < high).pop();
    if (last && end && (end.start_ns >= high || hits.length < PAGE_HITS)) return last;
    if (last) {
      // More hits than one page. The last of this one is a start to close in from.
      if (best && last.start_ns <= best.start_ns) return last;
      best = last;
    } else if (best) {
      if (high - best.start_ns < 2) return best;
      high = after;
    } else {
      if (after === 0) return undefined;
      high = after;
      back *= 8;
    }
  }
}
