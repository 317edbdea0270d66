// The shapes that the server answers with. All times are nanoseconds since the trace's first event.

export interface Run {
  id: number;
  path: string;
  label: string;
  modified_ms: number | null;
  bytes: number | null;
  state: "waiting" | "loading" | "ready" | "failed";
  read_bytes: number;
  total_bytes: number;
  error?: Problem | null;
}

export interface Runs {
  version: string;
  watching: boolean;
  runs: Run[];
  /** Set in a report: what it is, and what was left out of it. */
  report?: Report;
}

export interface Report {
  made: string;
  left_out: string[];
}

/** What went wrong, and what to do. */
export interface Problem {
  message: string;
  hint?: string | null;
}

export interface Definition {
  field: string;
  label: string;
  text: string;
}

/** The answer of a command: parts by key, definitions beside them. */
export interface Answer {
  definitions?: Definition[];
  [part: string]: unknown;
}

export type GroupKind = "steps" | "device" | "host" | "modules" | "other";

export interface Group {
  id: number;
  label: string;
  detail: string;
  kind: GroupKind;
  rows: number[];
  slices: number;
  derived: boolean;
}

export interface Row {
  id: number;
  group: number;
  label: string;
  depth: number;
  count: number;
  first_ns: number;
  last_ns: number;
}

export interface StepRange {
  step: number;
  name: string;
  start_ns: number;
  end_ns: number;
}

export interface Ledger {
  slices: number;
  points: number;
  flows: number;
  drawn_slices: number;
  drawn_points: number;
  metadata_points: number;
  counter_points: number;
  events_in_file: number;
}

export interface Layout {
  extent_ns: number;
  /** From the first slice to the last end of one. */
  work_ns: [number, number];
  groups: Group[];
  rows: Row[];
  categories: string[];
  ledger: Ledger;
  steps: StepRange[];
}

/** A slice, enough to point at it. */
export interface Ref {
  id: number;
  name: string;
  category: number;
  row: number;
  start_ns: number;
  dur_ns: number;
}

export type Relation = "launched by" | "launches" | "operator" | "device work" | "forward" | "backward";

export interface Details extends Ref {
  kind: string;
  cat: string;
  group: string;
  self_ns: number;
  step: number | null;
  args: [string, string][];
  shapes: string | null;
  types: string | null;
  flops: number | null;
  stack: string[];
  parents: Ref[];
  children: { name: string; count: number; total_ns: number }[];
  links: { relation: Relation; to: Ref }[];
  links_more: number;
  op: string | null;
  kernel: boolean;
}

export interface AreaName {
  name: string;
  category: number;
  count: number;
  total_ns: number;
  self_ns: number;
  share: number;
  longest: number;
}

export interface Area {
  from_ns: number;
  to_ns: number;
  count: number;
  total_ns: number;
  names: AreaName[];
  names_more: number;
  rows_busy: { row: number; busy_ns: number }[];
}

export interface Hits {
  query: string;
  total: number;
  total_ns: number;
  names: { id: number; name: string; count: number; total_ns: number }[];
  names_more: number;
  hits: Ref[];
  density: number[];
}

export interface SearchQuery {
  q: string;
  exact?: boolean;
  category?: number;
  order?: "start" | "dur";
  after?: number;
  limit?: number;
}

export interface Counter {
  id: string;
  label: string;
  unit: "share" | "bytes" | "count" | "other";
  /** What to write after a value; may be empty. */
  suffix: string;
  device: number | null;
  definition: string;
  max: number;
  t: number[];
  lo: number[];
  hi: number[];
}

export interface Flame {
  weight: string;
  /** Whose time it is. */
  clock: "host" | "device";
  total_ns: number;
  names: string[];
  name: number[];
  parent: number[];
  self_ns: number[];
  total_ns_of: number[];
  count: number[];
  category: number[];
  pruned_nodes: number;
  pruned_ns: number;
  /** Slices too deep for a node of their own. */
  deeper_slices: number;
}

/** A stretch of the critical path; several pieces where they are too short to be shown apart. */
export interface PathPiece {
  name: string;
  class: string;
  start_ns: number;
  dur_ns: number;
  slice: number | null;
  count: number;
}

/** A value, several under one name, or pairs of name and value whose order matters (`op` before its `speedup`). */
export type Options = Record<
  string,
  string | number | boolean | undefined | (string | number)[] | [name: string, value: string | number][]
>;
