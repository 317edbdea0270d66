// The pack inside a report as a source: the server's answers, written down, and the slices to work the others out.

import { areaOf } from "./pack/area.ts";
import { type Items, readRows } from "./pack/items.ts";
import { searchIn } from "./pack/search.ts";
import { hasSection, jsonSection, section } from "./pack/sections.ts";
import { arrange } from "./pack/tables.ts";
import { encodeTiles } from "./pack/tiles.ts";
import type { ServiceDashboard, ServiceQuery } from "./production-types.ts";
import { type Source, SourceError } from "./source.ts";
import { FIRST_INSTANT } from "./tiles.ts";
import type {
  AllocationDetails,
  Answer,
  Area,
  Counter,
  Details,
  Diff,
  Flame,
  Hits,
  Instant,
  Layout,
  MemoryAbout,
  MemoryWindow,
  Options,
  PathPiece,
  Runs,
  SearchQuery,
  SideBySide,
  SourceFile,
} from "./types.ts";
import type { BaselineListed, Counters, KernelRow, MetricHistory, PathPieces, ShownPages } from "./wire.ts";

/** Slices in one section of details. */
const DETAILS = 4096;
/** What a report can do to an answer by itself. */
const ARRANGING = new Set(["by", "sort", "filter", "top", "part", "offset", "limit", "full"]);
/** Flags whose answers a report may hold beside the plain one. */
const FLAGS = new Set(["leaks", "oom"]);

/** The source inside this page, if it is a report. */
export function packedSource(): Source | undefined {
  return globalThis.document && hasSection("meta") ? new PackSource() : undefined;
}

/** Whether this page is a report of two runs compared. */
export function isComparison(): boolean {
  return Boolean(globalThis.document) && hasSection("diff/0-1");
}

/** How a command groups its rows unless asked otherwise. */
const DEFAULT_BY: Record<string, string> = {
  steps: "breakdown",
  account: "cause",
  ops: "name",
  kernels: "name",
  memory: "op",
  modules: "tree",
  launches: "device",
  "critical-path": "name",
  roofline: "shape",
  code: "function",
  compile: "region",
  graphs: "graph",
};

const LIVE = "A report covers the whole run only. Open the trace with `stepscope view` for everything else.";

/** Where a section of a run is: those of the first have no number. */
function of(run: number, name: string): string {
  return run === 0 ? name : `${run}/${name}`;
}

class PackSource implements Source {
  readonly isReport = true;
  readonly #rows = new Map<number, Promise<Map<number, Items>>>();
  readonly #names = new Map<number, Promise<Map<number, string>>>();

  runs(): Promise<Runs> {
    return need(jsonSection<Runs>("meta"), "the list of runs");
  }

  async ask(run: number, command: string, options: Options = {}): Promise<Answer> {
    const given = Object.entries(options).filter(
      ([, value]) => value !== undefined && value !== false && value !== "",
    );
    const flag = given.find(([key]) => FLAGS.has(key))?.[0];
    const beyond = given.find(([key]) => !ARRANGING.has(key) && key !== flag);
    // One operator's kernels are among all kernels by operator.
    const ofOperator = command === "kernels" && beyond?.[0] === "op" ? String(beyond[1]) : undefined;
    if (beyond && ofOperator === undefined)
      throw new SourceError({ message: "Not available in a report.", hint: LIVE });
    const grouped = options.by && options.by !== DEFAULT_BY[command] ? `?by=${options.by}` : "";
    const asked = flag === undefined ? grouped : `?${flag}=1`;
    const answer = await jsonSection<Answer>(of(run, `ask/${command}${asked}`));
    if (!answer) throw new SourceError({ message: "Not included in this report.", hint: LIVE });
    if (ofOperator !== undefined) {
      const rows = (answer.kernels ?? []) as KernelRow[];
      return arrange({ ...answer, kernels: rows.filter((row) => row.op === ofOperator) }, options);
    }
    return arrange(answer, options);
  }

  async diff(a: readonly number[], b: readonly number[]): Promise<Diff> {
    const found = await jsonSection<Diff>(`diff/${a.join(",")}-${b.join(",")}`);
    if (!found)
      throw new SourceError({
        message: "This report does not include this comparison.",
        hint: "Open both traces with `stepscope view before.json.gz after.json.gz`, or write a report of them with `stepscope diff before.json.gz after.json.gz --html report.html`.",
      });
    return found;
  }

  async sideBySide(): Promise<SideBySide> {
    throw new SourceError({ message: "A report holds two runs at most.", hint: LIVE });
  }

  async baselines(): Promise<BaselineListed[]> {
    return [];
  }

  async history(): Promise<MetricHistory> {
    throw new SourceError({ message: "A report holds no baselines.", hint: LIVE });
  }

  async service({ route }: ServiceQuery): Promise<ServiceDashboard> {
    const all = await jsonSection<Record<string, ServiceDashboard>>("services");
    const found = all && Object.hasOwn(all, route ?? "") ? all[route ?? ""] : undefined;
    if (!found) throw new SourceError({ message: "Not included in this report.", hint: LIVE });
    return found;
  }

  serviceEvents(): undefined {
    return undefined;
  }

  csvUrl(): undefined {
    return undefined;
  }

  layout(run: number): Promise<Layout> {
    return need(jsonSection<Layout>(of(run, "timeline")), "the timeline");
  }

  async tiles(run: number, keys: string[]): Promise<ArrayBuffer> {
    return encodeTiles(await this.#items(run), keys);
  }

  async names(run: number, ids: number[]): Promise<string[]> {
    const names = await this.#texts(run);
    return ids.map((id) => names.get(id) ?? "");
  }

  async slice(run: number, id: number): Promise<Details> {
    // Instants come after the slices, in sections of their own.
    const kind = id >= FIRST_INSTANT ? "instants" : "details";
    const at = id % FIRST_INSTANT;
    const all = await jsonSection<Record<string, Details>>(of(run, `${kind}/${Math.floor(at / DETAILS)}`));
    const details = all?.[String(id)];
    if (!details)
      throw new SourceError({
        message: "The details of this slice are not included in the report.",
        hint: LIVE,
      });
    return details;
  }

  async area(run: number, from: number, to: number, rows: number[]): Promise<Area> {
    const [items, names, layout] = await Promise.all([this.#items(run), this.#texts(run), this.layout(run)]);
    return areaOf(items, (id) => names.get(id) ?? "", layout, from, to, rows);
  }

  async search(run: number, query: SearchQuery): Promise<Hits> {
    const [items, names, layout] = await Promise.all([this.#items(run), this.#texts(run), this.layout(run)]);
    return searchIn(items, names, layout, query);
  }

  async counters(run: number, from: number, to: number): Promise<Counter[]> {
    const all = await need(jsonSection<Counters>(of(run, "counters")), "the counters");
    return all.counters.map((counter) => within(counter, from, to));
  }

  async path(run: number, from: number, to: number): Promise<PathPiece[]> {
    const all = await need(jsonSection<PathPieces>(of(run, "path")), "the critical path");
    return all.pieces.filter((piece) => piece.start_ns < to && piece.start_ns + piece.dur_ns > from);
  }

  flame(run: number, weight: string, options: Options = {}): Promise<Flame> {
    if (options.step !== undefined)
      throw new SourceError({ message: "Single steps are not available in a report.", hint: LIVE });
    return need(jsonSection<Flame>(of(run, `flame/${weight}`)), "this flame graph");
  }

  memoryAbout(run: number): Promise<MemoryAbout> {
    return need(jsonSection<MemoryAbout>(of(run, "memory/about")), "the memory");
  }

  async memoryPicture(run: number, window: MemoryWindow): Promise<ArrayBuffer> {
    if (window.pool !== undefined)
      throw new SourceError({ message: "Single pools are not available in a report.", hint: LIVE });
    const name = of(run, `memory/picture/${window.of ?? window.axis}/${window.device}`);
    return (await need(section(name), "this picture of the memory")).buffer;
  }

  async memoryState(run: number, device: number, state: number): Promise<Instant> {
    const all = await jsonSection<Record<string, Instant>>(of(run, `memory/states/${device}`));
    const found = all?.[String(state)];
    if (!found)
      throw new SourceError({
        message: "A report has the states at the peak, at the end and when memory ran out only.",
        hint: LIVE,
      });
    return found;
  }

  async memoryFlame(run: number, device: number, state: number): Promise<Flame> {
    const all = await jsonSection<Record<string, Flame>>(of(run, `memory/flames/${device}`));
    return need(Promise.resolve(all?.[String(state)]), "this flame graph");
  }

  async memoryAllocation(run: number, device: number, id: number, kind: string): Promise<AllocationDetails> {
    const all = await jsonSection<Record<string, AllocationDetails>>(of(run, `memory/${kind}/${device}`));
    const found = all?.[String(id)];
    if (!found)
      throw new SourceError({
        message: "The details of this allocation are not included in the report.",
        hint: LIVE,
      });
    return found;
  }

  async shown(run: number): Promise<string[]> {
    return (await need(jsonSection<ShownPages>(of(run, "shown")), "its pages")).pages;
  }

  async source(run: number, file: string): Promise<SourceFile> {
    const found = (await jsonSection<Record<string, SourceFile>>(of(run, "sources")))?.[file];
    if (!found)
      throw new SourceError({ message: "The source of this file is not included in the report.", hint: LIVE });
    return found;
  }

  #items(run: number): Promise<Map<number, Items>> {
    return once(this.#rows, run, () =>
      section(of(run, "rows")).then((bytes) => (bytes ? readRows(bytes) : new Map())),
    );
  }

  #texts(run: number): Promise<Map<number, string>> {
    return once(this.#names, run, () =>
      jsonSection<[number, string][]>(of(run, "names")).then((pairs) => new Map(pairs)),
    );
  }
}

/** What is known of a run, worked out the first time. */
function once<T>(known: Map<number, Promise<T>>, run: number, make: () => Promise<T>): Promise<T> {
  let found = known.get(run);
  if (!found) {
    found = make();
    known.set(run, found);
  }
  return found;
}

async function need<T>(part: Promise<T | undefined>, what: string): Promise<T> {
  const found = await part;
  if (found === undefined)
    throw new SourceError({ message: `This report does not include ${what}.`, hint: LIVE });
  return found;
}

/** A counter between two moments, with the value it comes in with. */
function within(counter: Counter, from: number, to: number): Counter {
  let first = 0;
  while (first + 1 < counter.t.length && counter.t[first + 1]! <= from) first++;
  let last = first;
  while (last < counter.t.length && counter.t[last]! < to) last++;
  return {
    ...counter,
    t: counter.t.slice(first, last),
    lo: counter.lo.slice(first, last),
    hi: counter.hi.slice(first, last),
  };
}
