// Keeps the address and the timeline the same: what a user does goes to the address, what the address says is done.

import { effect, untracked } from "@preact/signals";
import { route, setParams } from "../../session/route.ts";
import type { Actions } from "./actions.ts";
import type { Model } from "./model.ts";
import { type Address, formatAddress, parseAddress } from "./url-state.ts";
import { home } from "./window.ts";

/** The address is written when nothing has changed for this long. */
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
      // What a drag passes over is not worth an address; where it ends is, at once.
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

  /** What the address should hold. */
  #state(): Address {
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
    this.#timer = setTimeout(() => this.#write(), QUIET_MS);
  }

  #write(): void {
    clearTimeout(this.#timer);
    if (this.#model.dragging.peek()) return;
    this.#dirty = false;
    if (route.value.view !== "timeline") return;
    this.#written = formatAddress(this.#state());
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
    const address = parseAddress(params);
    const model = this.#model;
    this.#written = formatAddress(address);
    model.pins.value = new Set(address.pins);
    model.folded.value = new Set(address.folded);
    model.marks.value = address.marks;
    model.showEmpty.value = address.empty;
    model.showPath.value = address.path;
    model.query.value = { text: address.query, exact: address.exact };
    if (address.window) model.view = address.window;
    if (address.area) model.area.value = address.area;
    else if (model.area.value) model.area.value = undefined;
    if (address.sel === undefined) {
      if (model.selection.value) model.selection.value = undefined;
    } else if (model.selection.value?.id !== address.sel)
      this.#choose(address.sel, address.window !== undefined);
    if (!address.window && address.sel === undefined) this.#home(params);
  }

  /** No window in the address: the step asked for, else all slices. */
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
    const now = formatAddress(parseAddress(params));
    return Object.keys(now).every((key) => now[key] === this.#written[key]);
  }
}
