// Keeps the URL and the timeline the same: what a user does goes to the URL, what the URL says is done.

import { effect, untracked } from "@preact/signals";
import { route, setParams } from "../../session/route.ts";
import type { Actions } from "./actions.ts";
import type { Model } from "./model.ts";
import { formatUrlState, parseUrlState, type UrlState } from "./url-state.ts";
import { home } from "./visible-span.ts";

/** The URL is written when nothing has changed for this long. */
const QUIET_MS = 250;

type Params = Record<string, string | undefined>;

export class Sync {
  readonly #model: Model;
  readonly #actions: Actions;
  readonly #stops: (() => void)[] = [];
  #written: Params = {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dirty = false;
  #closed = false;

  constructor(model: Model, actions: Actions) {
    this.#model = model;
    this.#actions = actions;
  }

  start(): void {
    this.#stops.push(
      effect(() => {
        const { view, params } = route.value;
        if (view === "timeline") untracked(() => this.#read(params));
      }),
      effect(() => {
        this.#state();
        untracked(() => this.#later());
      }),
      this.#model.onMove(() => this.#later()),
      // What a drag passes over is not worth a URL; where it ends is, at once.
      effect(() => {
        if (!this.#model.dragging.value && this.#dirty) untracked(() => this.#write());
      }),
    );
    const back = () => this.#back();
    addEventListener("popstate", back);
    this.#stops.push(() => removeEventListener("popstate", back));
    this.#actions.onJump = () => this.#remember();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (this.#dirty && route.value.view === "timeline") this.#write();
    for (const stop of this.#stops) stop();
  }

  /** What the URL should hold. */
  #state(): UrlState {
    const model = this.#model;
    const { from, to } = model.view;
    const first = home(model.layout);
    const isHome = Math.abs(from - first.from) < 1 && Math.abs(to - first.to) < 1;
    return {
      window: isHome ? undefined : { from, to },
      sel: model.selection.value?.id,
      area: model.area.value,
      query: model.query.value.text,
      exact: model.query.value.exact,
      pins: [...model.pins.value],
      folded: [...model.folded.value],
      marks: model.marks.value,
      path: model.showPath.value,
      empty: model.showEmpty.value,
    };
  }

  #later(): void {
    this.#dirty = true;
    clearTimeout(this.#timer);
    if (this.#closed || this.#model.dragging.peek()) return;
    // Frames may be further apart than the pause while a key is held or the window glides.
    const isMoving = () => this.#actions.motion.moving;
    this.#timer = setTimeout(() => (isMoving() ? this.#later() : this.#write()), QUIET_MS);
  }

  #write(): void {
    clearTimeout(this.#timer);
    if (this.#model.dragging.peek()) return;
    this.#dirty = false;
    if (route.value.view !== "timeline") return;
    this.#written = formatUrlState(this.#state());
    setParams(this.#written);
  }

  /** Before a jump: the browser's back comes back here. */
  #remember(): void {
    clearTimeout(this.#timer);
    if (route.value.view !== "timeline") return;
    this.#write();
    // A new entry with the same parameters; the next write changes only that one.
    history.pushState(null, "", location.hash);
  }

  /** Back or forward: what the entry says counts, and not what was about to be written over it. */
  #back(): void {
    clearTimeout(this.#timer);
    this.#dirty = false;
    this.#written = {};
    if (route.value.view === "timeline") this.#read(route.value.params);
  }

  #read(params: Params): void {
    if (this.#isOurs(params)) return;
    const state = parseUrlState(params);
    const model = this.#model;
    this.#written = formatUrlState(state);
    model.pins.value = new Set(state.pins);
    model.folded.value = new Set(state.folded);
    model.marks.value = state.marks;
    model.showEmpty.value = state.empty;
    model.showPath.value = state.path;
    model.query.value = { text: state.query, exact: state.exact };
    if (state.window) model.view = state.window;
    if (state.area) model.area.value = state.area;
    else if (model.area.value) model.area.value = undefined;
    if (state.sel === undefined) {
      if (model.selection.value) model.selection.value = undefined;
    } else if (model.selection.value?.id !== state.sel) this.#choose(state.sel, state.window !== undefined);
    if (!state.window && state.sel === undefined) this.#home(params);
  }

  /** No window in the URL: the step asked for, else all slices. */
  #home(params: Params): void {
    const step = this.#model.layout.steps.find((one) => String(one.step) === params.step);
    if (step) this.#actions.show({ from: step.start_ns, to: step.end_ns }, 0.04);
    else this.#model.view = home(this.#model.layout);
  }

  #choose(id: number, windowGiven: boolean): void {
    void this.#actions.select(id).then(() => {
      const details = this.#model.selection.value?.details;
      if (details?.id !== id) return;
      if (windowGiven) this.#actions.scrollTo(details.row);
      else {
        this.#actions.show(this.#actions.spanOf(details), 1.5);
        this.#actions.reveal(details);
      }
    });
  }

  #isOurs(params: Params): boolean {
    const now = formatUrlState(parseUrlState(params));
    return Object.keys(now).every((key) => now[key] === this.#written[key]);
  }
}
