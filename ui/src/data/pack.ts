// The pack inside a report as a source: the server's answers, written down, and the slices to work the others out.

import { areaOf } from "./pack/area.ts";
import { type Items, readRows } from "./pack/items.ts";
import { searchIn } from "./pack/search.ts";
import { hasSection, jsonSection, section } from "./pack/sections.ts";
import { arrange } from "./pack/tables.ts";
import { encodeTiles } from "./pack/tiles.ts";
import { type Source, SourceError } from "./source.ts";
import { FIRST_INSTANT } from "./tiles.ts";
import type {
  AllocationDetails,
  Answer,
  Area,
  Counter,
  Details,
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
  SourceFile,
} from "./types.ts";
import type { KernelRow } from "./wire.ts";

/** Slices in one section of details. */
const DETAILS = 4096;
/** What a report can do to an answer by itself. */
const ARRANGING = new Set(["by", "sort", "filter", "top", "part", "offset", "limit", "full"]);

/** The source inside this page, if it is a report. */
export function packedSource(): Source | undefined {
  return globalThis.document && hasSection("meta") ? new PackSource() : undefined;
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

class PackSource implements Source {
  readonly isReport = true;
  #rows: Promise<Map<number, Items>> | undefined;
  #names: Promise<Map<number, string>> | undefined;

  runs(): Promise<Runs> {
    return need(jsonSection<Runs>("meta"), "the list of runs");
  }

  async ask(_run: number, command: string, options: Options = {}): Promise<Answer> {
    const given = Object.entries(options).filter(
      ([, value]) => value !== undefined && value !== false && value !== "",
    );
    const beyond = given.find(([key]) => !ARRANGING.has(key));
    // One operator's kernels are among all kernels by operator.
    const ofOperator = command === "kernels" && beyond?.[0] === "op" ? String(beyond[1]) : undefined;
    if (beyond && ofOperator === undefined)
      throw new SourceError({ message: "Not available in a report.", hint: LIVE });
    const by = options.by && options.by !== DEFAULT_BY[command] ? `?by=${options.by}` : "";
    const answer = await jsonSection<Answer>(`ask/${command}${by}`);
    if (!answer) throw new SourceError({ message: "Not included in this report.", hint: LIVE });
    if (ofOperator !== undefined) {
      const rows = (answer.kernels ?? []) as KernelRow[];
      return arrange({ ...answer, kernels: rows.filter((row) => row.op === ofOperator) }, options);
    }
    return arrange(answer, options);
  }

  csvUrl(): undefined {
    return undefined;
  }

  layout(): Promise<Layout> {
    return need(jsonSection<Layout>("timeline"), "the timeline");
  }

  async tiles(_run: number, keys: string[]): Promise<ArrayBuffer> {
    return encodeTiles(await this.#items(), keys);
  }

  async names(_run: number, ids: number[]): Promise<string[]> {
    const names = await this.#texts();
    return ids.map((id) => names.get(id) ?? "");
  }

  async slice(_run: number, id: number): Promise<Details> {
    // Instants come after the slices, in sections of their own.
    const kind = id >= FIRST_INSTANT ? "instants" : "details";
    const at = id % FIRST_INSTANT;
    const all = await jsonSection<Record<string, Details>>(`${kind}/${Math.floor(at / DETAILS)}`);
    const details = all?.[String(id)];
    if (!details)
      throw new SourceError({
        message: "The details of this slice are not included in the report.",
        hint: LIVE,
      });
    return details;
  }

  async area(_run: number, from: number, to: number, rows: number[]): Promise<Area> {
    const [items, names, layout] = await Promise.all([this.#items(), this.#texts(), this.layout()]);
    return areaOf(items, (id) => names.get(id) ?? "", layout, from, to, rows);
  }

  async search(_run: number, query: SearchQuery): Promise<Hits> {
    const [items, names, layout] = await Promise.all([this.#items(), this.#texts(), this.layout()]);
    return searchIn(items, names, layout, query);
  }

  async counters(_run: number, from: number, to: number): Promise<Counter[]> {
    const all = await need(jsonSection<{ counters: Counter[] }>("counters"), "the counters");
    return all.counters.map((counter) => within(counter, from, to));
  }

  async path(_run: number, from: number, to: number): Promise<PathPiece[]> {
    const all = await need(jsonSection<{ pieces: PathPiece[] }>("path"), "the critical path");
    return all.pieces.filter((piece) => piece.start_ns < to && piece.start_ns + piece.dur_ns > from);
  }

  flame(_run: number, weight: string, options: Options = {}): Promise<Flame> {
    if (options.step !== undefined)
      throw new SourceError({ message: "Single steps are not available in a report.", hint: LIVE });
    return need(jsonSection<Flame>(`flame/${weight}`), "this flame graph");
  }

  memoryAbout(): Promise<MemoryAbout> {
    return need(jsonSection<MemoryAbout>("memory/about"), "the memory");
  }

  async memoryPicture(_run: number, window: MemoryWindow): Promise<ArrayBuffer> {
    if (window.pool !== undefined)
      throw new SourceError({ message: "Single pools are not available in a report.", hint: LIVE });
    const name = `memory/picture/${window.of ?? window.axis}/${window.device}`;
    return (await need(section(name), "this picture of the memory")).buffer;
  }

  async memoryState(_run: number, device: number, state: number): Promise<Instant> {
    const all = await jsonSection<Record<string, Instant>>(`memory/states/${device}`);
    const found = all?.[String(state)];
    if (!found)
      throw new SourceError({
        message: "A report has the state at the peak and at the end only.",
        hint: LIVE,
      });
    return found;
  }

  async memoryFlame(_run: number, device: number, state: number): Promise<Flame> {
    const all = await jsonSection<Record<string, Flame>>(`memory/flames/${device}`);
    return need(Promise.resolve(all?.[String(state)]), "this flame graph");
  }

  async memoryAllocation(_run: number, device: number, id: number, of: string): Promise<AllocationDetails> {
    const all = await jsonSection<Record<string, AllocationDetails>>(`memory/${of}/${device}`);
    const found = all?.[String(id)];
    if (!found)
      throw new SourceError({
        message: "The details of this allocation are not included in the report.",
        hint: LIVE,
      });
    return found;
  }

  async shown(): Promise<string[]> {
    return (await need(jsonSection<{ pages: string[] }>("shown"), "its pages")).pages;
  }

  async source(_run: number, file: string): Promise<SourceFile> {
    const found = (await jsonSection<Record<string, SourceFile>>("sources"))?.[file];
    if (!found)
      throw new SourceError({ message: "The source of this file is not included in the report.", hint: LIVE });
    return found;
  }

  #items(): Promise<Map<number, Items>> {
    this.#rows ??= section("rows").then((bytes) => (bytes ? readRows(bytes) : new Map()));
    return this.#rows;
  }

  #texts(): Promise<Map<number, string>> {
    this.#names ??= jsonSection<[number, string][]>("names").then((pairs) => new Map(pairs));
    return this.#names;
  }
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
