// The server as a source. Waits while a trace loads; says so when the server is gone.

import type { ServiceDashboard, ServiceQuery } from "./production-types.ts";
import { type Source, SourceError } from "./source.ts";
import type * as types from "./types.ts";
import type {
  BaselineListed,
  Counters,
  ErrorReply,
  MetricHistory,
  Names,
  PathPieces,
  ShownPages,
  StillLoading,
} from "./wire.ts";

const GONE: types.Problem = {
  message: "The server is not responding.",
  hint: "It may have been stopped. Run `stepscope view` again and open the URL it prints. What you see stays usable.",
};

/** What a URL with another token gets. */
const RESTARTED: types.Problem = {
  message: "The server was restarted after this page was opened.",
  hint: "Each start has its own token: open the URL that `stepscope view` printed last.",
};

/** Called when a load makes progress and when the server goes or comes back. */
export interface Watcher {
  loading(run: number, read: number, total: number): void;
  online(yes: boolean): void;
}

export class HttpSource implements Source {
  readonly isReport = false;
  readonly #watcher: Watcher;

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
  }

  runs(fresh = false): Promise<types.SessionInfo> {
    return this.#json(fresh ? "api/runs?fresh=1" : "api/runs");
  }

  ask(run: number, command: string, options: types.Options = {}, signal?: AbortSignal): Promise<types.Answer> {
    return this.#json(`api/r/${run}/ask/${command}${query(options)}`, signal);
  }

  diff(
    a: readonly number[],
    b: readonly number[],
    options: types.Options = {},
    signal?: AbortSignal,
  ): Promise<types.DiffAnswer> {
    return this.#json(`api/diff${query({ a: a.join(","), b: b.join(","), ...options })}`, signal);
  }

  sideBySide(runs: readonly number[], signal?: AbortSignal): Promise<types.SideBySide> {
    return this.#json(`api/diff?${runs.map((run) => `s=${run}`).join("&")}`, signal);
  }

  baselines(signal?: AbortSignal): Promise<BaselineListed[]> {
    return this.#json("api/history", signal);
  }

  history(baseline: string, metric: string, signal?: AbortSignal): Promise<MetricHistory> {
    return this.#json(`api/history${query({ baseline, metric })}`, signal);
  }

  service(asked: ServiceQuery, signal?: AbortSignal): Promise<ServiceDashboard> {
    return this.#json(`api/service${query({ ...asked })}`, signal);
  }

  serviceEvents(): EventSource {
    return new EventSource("api/service/events");
  }

  csvUrl(run: number, command: string, options: types.Options = {}): string {
    return `api/r/${run}/csv/${command}${query(options)}`;
  }

  layout(run: number): Promise<types.Layout> {
    return this.#json(`api/r/${run}/timeline`);
  }

  async tiles(run: number, keys: string[], signal?: AbortSignal): Promise<ArrayBuffer> {
    const response = await this.#get(`api/r/${run}/tiles?t=${keys.join(",")}`, signal);
    return response.arrayBuffer();
  }

  async names(run: number, ids: number[]): Promise<string[]> {
    const { names } = await this.#json<Names>(`api/r/${run}/names?ids=${ids.join(",")}`);
    return names;
  }

  slice(run: number, id: number, signal?: AbortSignal): Promise<types.Details> {
    return this.#json(`api/r/${run}/slice/${id}`, signal);
  }

  area(run: number, from: number, to: number, rows: number[], signal?: AbortSignal): Promise<types.Area> {
    return this.#json(`api/r/${run}/area${query({ from, to, rows: ranges(rows) })}`, signal);
  }

  search(run: number, search: types.SearchQuery, signal?: AbortSignal): Promise<types.Hits> {
    return this.#json(`api/r/${run}/search${query({ ...search })}`, signal);
  }

  async counters(
    run: number,
    from: number,
    to: number,
    buckets: number,
    signal?: AbortSignal,
  ): Promise<types.Counter[]> {
    const path = `api/r/${run}/counters${query({ from, to, buckets })}`;
    return (await this.#json<Counters>(path, signal)).counters;
  }

  async path(run: number, from: number, to: number, buckets: number): Promise<types.Stretch[]> {
    const path = `api/r/${run}/path${query({ from, to, buckets })}`;
    return (await this.#json<PathPieces>(path)).pieces;
  }

  flame(run: number, weight: string, options: types.Options = {}, signal?: AbortSignal): Promise<types.Flame> {
    return this.#json(`api/r/${run}/flame${query({ weight, ...options })}`, signal);
  }

  async shown(run: number, signal?: AbortSignal): Promise<string[]> {
    return (await this.#json<ShownPages>(`api/r/${run}/shown`, signal)).pages;
  }

  source(run: number, file: string, signal?: AbortSignal): Promise<types.SourceFile> {
    return this.#json(`api/r/${run}/source${query({ file })}`, signal);
  }

  memoryAbout(run: number, signal?: AbortSignal): Promise<types.MemoryAbout> {
    return this.#json(`api/r/${run}/memory/about`, signal);
  }

  async memoryPicture(run: number, window: types.MemoryWindow, signal?: AbortSignal): Promise<ArrayBuffer> {
    const response = await this.#get(`api/r/${run}/memory/picture${query({ ...window })}`, signal);
    return response.arrayBuffer();
  }

  memoryState(run: number, device: number, state: number, signal?: AbortSignal): Promise<types.Instant> {
    return this.#json(`api/r/${run}/memory/state${query({ device, state })}`, signal);
  }

  memoryFlame(run: number, device: number, state: number, signal?: AbortSignal): Promise<types.Flame> {
    return this.#json(`api/r/${run}/memory/flame${query({ device, state })}`, signal);
  }

  memoryAllocation(
    run: number,
    device: number,
    id: number,
    of: "allocations" | "segments",
    signal?: AbortSignal,
  ): Promise<types.AllocationDetails> {
    return this.#json(`api/r/${run}/memory/allocation${query({ device, id, of })}`, signal);
  }

  async #json<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await this.#get(path, signal)).json() as Promise<T>;
  }

  async #get(path: string, signal?: AbortSignal): Promise<Response> {
    for (let wait = 60; ; wait = Math.min(wait * 1.5, 500)) {
      const response = await this.#fetch(path, signal);
      if (response.status === 202) {
        const { run, read_bytes, total_bytes } = (await response.json()) as StillLoading;
        this.#watcher.loading(run, read_bytes, total_bytes);
        await sleep(wait, signal);
        continue;
      }
      if (response.ok) return response;
      throw new SourceError(await problemIn(response));
    }
  }

  async #fetch(path: string, signal?: AbortSignal): Promise<Response> {
    try {
      const response = await fetch(path, { signal: signal ?? null });
      this.#watcher.online(true);
      return response;
    } catch (error) {
      if (error instanceof DOMException) throw error;
      this.#watcher.online(false);
      throw new SourceError(GONE);
    }
  }
}

async function problemIn(response: Response): Promise<types.Problem> {
  try {
    const { error } = (await response.json()) as ErrorReply;
    return error;
  } catch {
    // Its own refusals are JSON.
    if (response.status === 404) return RESTARTED;
    return { message: `The server answered ${response.status} ${response.statusText}.` };
  }
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("no longer wanted", "AbortError"));
    });
  });
}

/** `?a=1&b=x`: a flag that is true is 1, what is undefined, false or empty is left out, pairs keep their order. */
export function query(options: types.Options | Record<string, unknown>): string {
  const parts: string[] = [];
  for (const [key, value] of Object.entries(options)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === undefined || one === false || one === "") continue;
      const [name, text] = Array.isArray(one) ? one : [key, one === true ? 1 : one];
      parts.push(`${name}=${encodeURIComponent(String(text))}`);
    }
  }
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

/** `[0,1,2,5]` as `0-2,5`. */
export function ranges(numbers: number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1]! <= sorted[j]! + 1) j++;
    parts.push(i === j ? `${sorted[i]}` : `${sorted[i]}-${sorted[j]}`);
    i = j + 1;
  }
  return parts.join(",");
}
