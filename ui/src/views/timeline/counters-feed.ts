// What is fetched beside tiles and names: counters of the window and of the whole trace, the critical path.

import { signal } from "@preact/signals";
import { isAbort, problemOf } from "../../data/source.ts";
import type { Counter } from "../../data/types.ts";
import { makePath } from "./critical-path.ts";
import { type Model, watched } from "./model.ts";

const WAIT_MS = 90;
/** Points of the minimap. */
const MINIMAP_BUCKETS = 800;
const RETRY_MS = 2500;

export class CountersFeed {
  /** Counters over the whole trace. */
  readonly whole = signal<readonly Counter[]>([]);
  readonly #model: Model;
  readonly #width: () => number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #control: AbortController | undefined;
  #asked = "";
  #askedPath = "";
  #closed = false;

  constructor(model: Model, width: () => number) {
    this.#model = model;
    this.#width = width;
  }

  async start(): Promise<void> {
    const { source, run, extent } = this.#model;
    if (extent <= 0) return;
    try {
      this.whole.value = await watched(source.counters(run, 0, extent, MINIMAP_BUCKETS));
      if (this.#model.counters.value.length === 0) this.#model.counters.value = this.whole.value;
      this.moved();
    } catch (error) {
      if (isAbort(error) || this.#closed) return;
      this.#model.trouble.value = problemOf(error);
      setTimeout(() => !this.#closed && void this.start(), RETRY_MS);
    }
  }

  /** The window moved: what depends on it is fetched again when it rests. What is here is drawn meanwhile. */
  moved(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.whole.value.length > 0) void this.#fetchCounters();
      if (this.#model.showPath.value) void this.loadPath();
    }, WAIT_MS);
  }

  /** The view with half of it more on both sides, so that a small move has something to show. */
  #window(): { from: number; to: number; buckets: number } {
    const { view, extent } = this.#model;
    const length = view.to - view.from;
    const from = Math.max(0, Math.floor(view.from - length / 2));
    const to = Math.min(extent, Math.ceil(view.to + length / 2));
    const buckets = Math.max(64, Math.min(4096, Math.round((this.#width() * (to - from)) / length)));
    return { from, to, buckets };
  }

  async #fetchCounters(): Promise<void> {
    const { source, run } = this.#model;
    const { from, to, buckets } = this.#window();
    const asked = `${from}-${to}-${buckets}`;
    if (asked === this.#asked || to <= from) return;
    this.#asked = asked;
    this.#control?.abort();
    const control = new AbortController();
    this.#control = control;
    try {
      const counters = await watched(source.counters(run, from, to, buckets, control.signal));
      if (control.signal.aborted || this.#closed) return;
      this.#model.counters.value = counters;
      this.#model.trouble.value = undefined;
      this.#model.redraw();
    } catch (error) {
      this.#asked = "";
      if (isAbort(error) || this.#closed) return;
      this.#model.trouble.value = problemOf(error);
      this.#timer = setTimeout(() => this.moved(), RETRY_MS);
    }
  }

  /** The critical path within the window, as fine as it can be seen. */
  async loadPath(): Promise<void> {
    const model = this.#model;
    const { from, to, buckets } = this.#window();
    const asked = `${from}-${to}-${buckets}`;
    if (asked === this.#askedPath || to <= from) return;
    this.#askedPath = asked;
    try {
      const pieces = await watched(model.source.path(model.run, from, to, buckets));
      // A later window overtook this one.
      if (this.#closed || asked !== this.#askedPath) return;
      if (pieces.length === 0 && from === 0 && to >= model.extent) {
        model.pathProblem.value = {
          message: "No critical path in this trace.",
          hint: "It needs linked host and device work: record both CPU and CUDA activities.",
        };
        return;
      }
      model.path.value = makePath(pieces);
      model.pathProblem.value = undefined;
      model.redraw();
    } catch (error) {
      this.#askedPath = "";
      if (!isAbort(error) && !this.#closed) model.pathProblem.value = problemOf(error);
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#control?.abort();
  }
}
