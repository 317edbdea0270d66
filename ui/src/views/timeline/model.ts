// What the timeline shows of one run. Signals for what the page renders; the window is a plain value, drawn by frames.

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { NameStore } from "../../data/name-store.ts";
import type { Source } from "../../data/source.ts";
import { TileStore } from "../../data/tile-store.ts";
import { topLevel } from "../../data/tiles.ts";
import type { Counter, Details, Hits, Layout, Problem } from "../../data/types.ts";
import { busy } from "../../session/busy.ts";
import type { CriticalPath } from "./critical-path.ts";
import type { Hit } from "./hit.ts";
import { type LaneLayout, layOutLanes } from "./lane-layout.ts";
import type { AreaChoice, Marks } from "./url-state.ts";
import { clamp, type Extent, home, type Span } from "./visible-span.ts";

/** The slice chosen: what was under the pointer at once, all about it when it has come. */
export interface Selection {
  id: number;
  /** How many slices share the place that was clicked. */
  of: number;
  hit?: Hit;
  details?: Details;
  problem?: Problem;
}

export interface Query {
  text: string;
  exact: boolean;
}

export class Model {
  readonly run: number;
  readonly source: Source;
  readonly layout: Layout;
  /** The level whose one tile holds all. */
  readonly top: number;
  readonly tiles: TileStore;
  readonly names: NameStore;

  readonly pins = signal<ReadonlySet<string>>(new Set());
  readonly folded = signal<ReadonlySet<string>>(new Set());
  readonly showEmpty = signal(false);
  readonly showPath = signal(false);
  readonly path = signal<CriticalPath | undefined>(undefined);
  readonly pathProblem = signal<Problem | undefined>(undefined);
  /** Whether the pointer holds something: what it is at is not final. */
  readonly dragging = signal(false);
  readonly selection = signal<Selection | undefined>(undefined);
  readonly area = signal<AreaChoice | undefined>(undefined);
  readonly marks = signal<Marks>({ current: undefined, kept: [] });
  readonly query = signal<Query>({ text: "", exact: false });
  readonly hits = signal<Hits | undefined>(undefined);
  /** The hit jumped to, counted from 1 where that is known. */
  readonly hitAt = signal<number | undefined>(undefined);
  readonly searchProblem = signal<Problem | undefined>(undefined);
  readonly counters = signal<readonly Counter[]>([]);
  /** Something could not be fetched; it is tried again. */
  readonly trouble = signal<Problem | undefined>(undefined);
  /** Said to those who do not see the picture. */
  readonly announcement = signal("");
  readonly laneLayout: ReadonlySignal<LaneLayout>;
  /** Counters by number and order, not by values: lanes change only with these. */
  readonly counterLanes: ReadonlySignal<readonly Counter[]>;

  /** Whether the chosen slice is kept in sight; until the user scrolls away. */
  follow = false;
  /** The moment that the ruler counts from. */
  origin = 0;
  /** Scrolled down by this much. */
  scroll = 0;
  pinScroll = 0;
  #view: Span;
  #bounds: Extent;
  readonly #redraw = new Set<() => void>();
  readonly #moved = new Set<() => void>();

  constructor(run: number, source: Source, layout: Layout) {
    this.run = run;
    this.source = source;
    this.layout = layout;
    this.top = topLevel(layout.extent_ns);
    this.#view = home(layout);
    this.#bounds = layout.extent_ns;
    this.tiles = new TileStore({
      fetch: (keys, signal) => watched(source.tiles(run, keys, signal)),
      changed: () => this.redraw(),
      failed: (problem) => {
        this.trouble.value = problem;
      },
    });
    this.names = new NameStore({
      fetch: (ids) => watched(source.names(run, ids)),
      changed: () => this.redraw(),
    });
    let lanes: readonly Counter[] = [];
    this.counterLanes = computed(() => {
      const now = this.counters.value;
      const same = now.length === lanes.length && now.every((counter, i) => counter.id === lanes[i]?.id);
      if (!same) lanes = now;
      return lanes;
    });
    this.laneLayout = computed(() =>
      layOutLanes(layout, this.counterLanes.value, {
        pins: this.pins.value,
        folded: this.folded.value,
        showEmpty: this.showEmpty.value,
        path: this.showPath.value && this.path.value !== undefined,
      }),
    );
  }

  get view(): Span {
    return this.#view;
  }
  set view(span: Span) {
    this.#view = clamp(span, this.#bounds);
    for (const listener of this.#moved) listener();
    this.redraw();
  }

  /** What can be scrolled to. */
  get bounds(): Extent {
    return this.#bounds;
  }
  set bounds(bounds: Extent) {
    this.#bounds = bounds;
    this.view = this.#view;
  }

  get extent(): number {
    return this.layout.extent_ns;
  }

  /** The user scrolls. */
  scrollBy(pixels: number): void {
    this.follow = false;
    this.scroll += pixels;
    this.redraw();
  }

  redraw(): void {
    for (const listener of this.#redraw) listener();
  }

  onRedraw(listener: () => void): () => void {
    this.#redraw.add(listener);
    return () => this.#redraw.delete(listener);
  }

  /** Called when the window moves. */
  onMove(listener: () => void): () => void {
    this.#moved.add(listener);
    return () => this.#moved.delete(listener);
  }

  toggle(set: "pins" | "folded", key: string): void {
    const next = new Set(this[set].value);
    if (!next.delete(key)) next.add(key);
    this[set].value = next;
  }

  /** The step that a moment lies in. */
  stepAt(time: number): number {
    return this.layout.steps.findIndex((step) => step.start_ns <= time && time < step.end_ns);
  }

  close(): void {
    this.tiles.close();
    this.names.close();
    this.#redraw.clear();
    this.#moved.clear();
  }
}

/** Counts as under way, so that tests can wait for it. */
export async function watched<T>(promise: Promise<T>): Promise<T> {
  busy(1);
  try {
    return await promise;
  } finally {
    busy(-1);
  }
}
