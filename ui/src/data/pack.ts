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
import type * as types from "./types.ts";
import type { BaselineListed, Counters, KernelRow, MetricHistory, PathPieces, ShownPages } from "./wire.ts";
import { GROUPINGS, REPORT_FLAGS } from "./wire.ts";

/** Slices in one section of details. */
const DETAILS_PER_SECTION = 4096;
/** What a report can do to an answer by itself. */
const ARRANGING = new Set(["by", "sort", "filter", "top", "part", "offset", "limit", "full"]);

/** The source inside this page, if it is a report. */
export function packedSource(): Source | undefined {
  return globalThis.document && hasSection("meta") ? new PackSource() : undefined;
}

/** Whether this page is a report of two runs compared. */
export function isComparison(): boolean {
  return Boolean(globalThis.document) && hasSection("diff/0-1");
}

const LIVE = "A report covers the whole run only. Open the trace with `stepscope view` for everything else.";

/** Where a section of a run is: those of the first have no number. */
function of(run: number, name: string): string {
  return run === 0 ? name : `${run}/${name}`;
}

class PackSource implements Source {
  readonly isReport = true;
  readonly #rows = new Map<number, Promise<Map<number, Items>>>();
  readonly #names = new Map<number, Promise<Map<number, string>>>();

  runs(): Promise<types.SessionInfo> {
    return need(jsonSection<types.SessionInfo>("meta"), "the list of runs");
  }

  async ask(run: number, command: string, options: types.Options = {}): Promise<types.Answer> {
    const given = Object.entries(options).filter(
      ([, value]) => value !== undefined && value !== false && value !== "",
    );
    const flag = given.find(([key]) => REPORT_FLAGS.includes(key))?.[0];
    const beyond = given.find(([key]) => !ARRANGING.has(key) && key !== flag);
    // One operator's kernels are among all kernels by operator.
    const ofOperator = command === "kernels" && beyond?.[0] === "op" ? String(beyond[1]) : undefined;
    if (beyond && ofOperator === undefined)
      throw new SourceError({ message: "Not available in a report.", hint: LIVE });
    const usual = command in GROUPINGS ? GROUPINGS[command as keyof typeof GROUPINGS][0] : undefined;
    const grouped = options.by && options.by !== usual ? `?by=${options.by}` : "";
    const asked = flag === undefined ? grouped : `?${flag}=1`;
    const answer = await jsonSection<types.Answer>(of(run, `ask/${command}${asked}`));
    if (!answer) throw new SourceError({ message: "Not included in this report.", hint: LIVE });
    if (ofOperator !== undefined) {
      const rows = (answer.kernels ?? []) as KernelRow[];
      return arrange({ ...answer, kernels: rows.filter((row) => row.op === ofOperator) }, options);
    }
    return arrange(answer, options);
  }

  async diff(a: readonly number[], b: readonly number[]): Promise<types.DiffAnswer> {
    const found = await jsonSection<types.DiffAnswer>(`diff/${a.join(",")}-${b.join(",")}`);
    if (!found)
      throw new SourceError({
        message: "This report does not include this comparison.",
        hint: "Open both traces with `stepscope view before.json.gz after.json.gz`, or write a report of them with `stepscope diff before.json.gz after.json.gz --html report.html`.",
      });
    return found;
  }

  async sideBySide(): Promise<types.SideBySide> {
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

  layout(run: number): Promise<types.Layout> {
    return need(jsonSection<types.Layout>(of(run, "timeline")), "the timeline");
  }

  async tiles(run: number, keys: string[]): Promise<ArrayBuffer> {
    return encodeTiles(await this.#items(run), keys);
  }

  async names(run: number, ids: number[]): Promise<string[]> {
    const names = await this.#texts(run);
    return ids.map((id) => names.get(id) ?? "");
  }

  async slice(run: number, id: number): Promise<types.Details> {
    // Instants come after the slices, in sections of their own.
    const kind = id >= FIRST_INSTANT ? "instants" : "details";
    const at = id % FIRST_INSTANT;
    const all = await jsonSection<Record<string, types.Details>>(
      of(run, `${kind}/${Math.floor(at / DETAILS_PER_SECTION)}`),
    );
    const details = all?.[String(id)];
    if (!details)
      throw new SourceError({
        message: "The details of this slice are not included in the report.",
        hint: LIVE,
      });
    return details;
  }

  async area(run: number, from: number, to: number, rows: number[]): Promise<types.Area> {
    const [items, names, layout] = await Promise.all([this.#items(run), this.#texts(run), this.layout(run)]);
    return areaOf(items, (id) => names.get(id) ?? "", layout, from, to, rows);
  }

  async search(run: number, query: types.SearchQuery): Promise<types.Hits> {
    const [items, names, layout] = await Promise.all([this.#items(run), this.#texts(run), this.layout(run)]);
    return searchIn(items, names, layout, query);
  }

  async counters(run: number, from: number, to: number): Promise<types.Counter[]> {
    const all = await need(jsonSection<Counters>(of(run, "counters")), "the counters");
    return all.counters.map((counter) => within(counter, from, to));
  }

  async path(run: number, from: number, to: number): Promise<types.Stretch[]> {
    const all = await need(jsonSection<PathPieces>(of(run, "path")), "the critical path");
    return all.pieces.filter((piece) => piece.start_ns < to && piece.start_ns + piece.dur_ns > from);
  }

  flame(run: number, weight: string, options: types.Options = {}): Promise<types.Flame> {
    if (options.step !== undefined)
      throw new SourceError({ message: "Single steps are not available in a report.", hint: LIVE });
    return need(jsonSection<types.Flame>(of(run, `flame/${weight}`)), "this flame graph");
  }

  memoryAbout(run: number): Promise<types.MemoryAbout> {
    return need(jsonSection<types.MemoryAbout>(of(run, "memory/about")), "the memory");
  }

  async memoryPicture(run: number, window: types.MemoryWindow): Promise<ArrayBuffer> {
    if (window.pool !== undefined)
      throw new SourceError({ message: "Single pools are not available in a report.", hint: LIVE });
    const name = of(run, `memory/picture/${window.of ?? window.axis}/${window.device}`);
    return (await need(section(name), "this picture of the memory")).buffer;
  }

  async memoryState(run: number, device: number, state: number): Promise<types.Instant> {
    const all = await jsonSection<Record<string, types.Instant>>(of(run, `memory/states/${device}`));
    const found = all?.[String(state)];
    if (!found)
      throw new SourceError({
        message: "A report has the states at the peak, at the end and when memory ran out only.",
        hint: LIVE,
      });
    return found;
  }

  async memoryFlame(run: number, device: number, state: number): Promise<types.Flame> {
    const all = await jsonSection<Record<string, types.Flame>>(of(run, `memory/flames/${device}`));
    return need(Promise.resolve(all?.[String(state)]), "this flame graph");
  }

  async memoryAllocation(
    run: number,
    device: number,
    id: number,
    kind: string,
  ): Promise<types.AllocationDetails> {
    const all = await jsonSection<Record<string, types.AllocationDetails>>(of(run, `memory/${kind}/${device}`));
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

  async source(run: number, file: string): Promise<types.SourceFile> {
    const found = (await jsonSection<Record<string, types.SourceFile>>(of(run, "sources")))?.[file];
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
function within(counter: types.Counter, from: number, to: number): types.Counter {
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
