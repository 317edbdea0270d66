// Where data comes from: the server, or the pack inside a report. Views know this interface only.

import type { ServiceDashboard, ServiceQuery } from "./production-types.ts";
import type * as types from "./types.ts";
import type { BaselineListed, MetricHistory } from "./wire.ts";

export interface Source {
  /** Whether everything is inside this file. */
  readonly isReport: boolean;
  /** All runs; `fresh`: with what was recorded since. */
  runs(fresh?: boolean): Promise<types.SessionInfo>;
  /** A command's answer, as `--format json` gives it. */
  ask(run: number, command: string, options?: types.Options, signal?: AbortSignal): Promise<types.Answer>;
  /** Two sides compared, each one or more recordings; as `stepscope diff --format json` gives it. */
  diff(
    a: readonly number[],
    b: readonly number[],
    options?: types.Options,
    signal?: AbortSignal,
  ): Promise<types.DiffAnswer>;
  /** More than two runs, each held to the first. */
  sideBySide(runs: readonly number[], signal?: AbortSignal): Promise<types.SideBySide>;
  /** The baselines that are open; a report has none. */
  baselines(signal?: AbortSignal): Promise<BaselineListed[]>;
  /** One metric of a baseline over time. */
  history(baseline: string, metric: string, signal?: AbortSignal): Promise<MetricHistory>;
  /** A service's dashboard over a period; a report has the one period that it was made of. */
  service(query: ServiceQuery, signal?: AbortSignal): Promise<ServiceDashboard>;
  /** Says `changed` when something new was written about the service. */
  serviceEvents(): EventSource | undefined;
  /** Where a command's CSV can be had; none in a report. */
  csvUrl(run: number, command: string, options?: types.Options): string | undefined;
  layout(run: number): Promise<types.Layout>;
  /** Tiles as `row.level.index`, in the wire format. */
  tiles(run: number, keys: string[], signal?: AbortSignal): Promise<ArrayBuffer>;
  names(run: number, ids: number[]): Promise<string[]>;
  slice(run: number, id: number, signal?: AbortSignal): Promise<types.Details>;
  area(run: number, from: number, to: number, rows: number[], signal?: AbortSignal): Promise<types.Area>;
  search(run: number, query: types.SearchQuery, signal?: AbortSignal): Promise<types.Hits>;
  counters(
    run: number,
    from: number,
    to: number,
    buckets: number,
    signal?: AbortSignal,
  ): Promise<types.Counter[]>;
  /** The critical path between two moments. */
  path(run: number, from: number, to: number, buckets: number): Promise<types.Stretch[]>;
  /** Which pages have something to show about a run, by their ids. */
  shown(run: number, signal?: AbortSignal): Promise<string[]>;
  /** A source file that the run names. */
  source(run: number, file: string, signal?: AbortSignal): Promise<types.SourceFile>;
  flame(run: number, weight: string, options?: types.Options, signal?: AbortSignal): Promise<types.Flame>;
  /** What a memory snapshot has to draw. */
  memoryAbout(run: number, signal?: AbortSignal): Promise<types.MemoryAbout>;
  /** A window of its stacked allocations, in the wire format. A report has the whole only, whatever is asked for. */
  memoryPicture(run: number, window: types.MemoryWindow, signal?: AbortSignal): Promise<ArrayBuffer>;
  /** One state of a device's memory. */
  memoryState(run: number, device: number, state: number, signal?: AbortSignal): Promise<types.Instant>;
  /** The same by stack, in bytes. */
  memoryFlame(run: number, device: number, state: number, signal?: AbortSignal): Promise<types.Flame>;
  /** One allocation, or one segment. */
  memoryAllocation(
    run: number,
    device: number,
    id: number,
    of: "allocations" | "segments",
    signal?: AbortSignal,
  ): Promise<types.AllocationDetails>;
}

/** A failure with a sentence and a hint, to be shown where the answer would have been. */
export class SourceError extends Error {
  readonly problem: types.Problem;
  constructor(problem: types.Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** What to show for any failure. */
export function problemOf(error: unknown): types.Problem {
  if (error instanceof SourceError) return error.problem;
  return { message: error instanceof Error ? error.message : String(error) };
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
