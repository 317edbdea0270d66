// The shapes that sources deal in: what the server sends, under the names used here, and what only the page knows.

import type * as wire from "./wire.ts";

export type {
  AllocationDetails,
  Area,
  AreaName,
  Counter,
  Definition,
  Details,
  DiffAnswer as Diff,
  Flame,
  GroupInfo as Group,
  Hits,
  Instant,
  MemoryAbout,
  MemoryDevice,
  Ref,
  Relation,
  SourceFile,
  StepInfo as StepRange,
  Stretch as PathPiece,
} from "./wire.ts";

export interface Runs {
  version: string;
  watching: boolean;
  runs: Run[];
  /** Whether baselines are open beside the runs, or instead of them. */
  history?: boolean;
  /** Set if what is open was written by a service that is watched. */
  service?: { name: string } | null;
  /** Set in a report: what it is, and what was left out of it. */
  report?: Report;
}

/** A run as the server lists it; a report does not tell how large and how old its file was. */
export type Run = Omit<wire.Listed, "bytes" | "modified_ms" | "error" | "recording"> &
  Partial<Pick<wire.Listed, "bytes" | "modified_ms" | "error" | "recording">>;

export interface Report {
  made: string;
  left_out: string[];
}

/** More than two runs side by side, as `stepscope diff A B C --format json` gives it. */
export interface SideBySide {
  by: wire.ComparedBy;
  sentence: string;
  runs: wire.SideRow[];
  pairs: wire.PairRow[];
  unlike: string[];
  definitions?: wire.Definition[];
}

/** What went wrong, and what to do; a problem that the page itself finds may have no hint. */
export type Problem = Pick<wire.Problem, "message"> & Partial<wire.Problem>;

/** The answer of a command: parts by key, definitions beside them. */
export interface Answer {
  definitions?: wire.Definition[];
  [part: string]: unknown;
}

export interface Layout extends wire.Layout {
  /** Two moments, always. */
  work_ns: [number, number];
}

export interface SearchQuery {
  q: string;
  exact?: boolean;
  category?: number;
  order?: "start" | "dur";
  after?: number;
  limit?: number;
}

/** A value, several under one name, or pairs of name and value whose order matters (`op` before its `speedup`). */
export type Options = Record<
  string,
  string | number | boolean | undefined | (string | number)[] | [name: string, value: string | number][]
>;

/** What to draw of a memory snapshot: what is stacked, from where to where, in how many pixels. */
export interface MemoryWindow {
  device: number;
  axis: "entry" | "time";
  of?: "segments";
  pool?: string;
  from: number;
  to: number;
  low: number;
  high: number;
  columns: number;
  rows: number;
}
