// The shapes that sources deal in: what the server sends, and what only the page knows.

import type * as wire from "./wire.ts";

export type {
  AllocationDetails,
  Area,
  AreaName,
  Counter,
  Definition,
  Details,
  DiffAnswer,
  Flame,
  GroupInfo,
  Hits,
  Instant,
  Layout,
  ListedRun,
  MemoryAbout,
  MemoryDevice,
  Ref,
  Relation,
  SessionInfo,
  SideBySide,
  SourceFile,
  StepInfo,
  Stretch,
} from "./wire.ts";

/** What went wrong, and what to do; a problem that the page itself finds may have no hint. */
export type Problem = Pick<wire.Problem, "message"> & Partial<wire.Problem>;

/** The answer of any command: parts by key, definitions beside them. Its forms are in `wire.ts`. */
export interface Answer {
  definitions?: wire.Definition[];
  [part: string]: unknown;
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
