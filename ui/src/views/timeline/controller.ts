// Everything that works outside of Preact, put together and taken apart again.

import { effect, signal, untracked } from "@preact/signals";
import { online } from "../../session/state.ts";
import { theme } from "../../session/theme.ts";
import { Actions } from "./actions.ts";
import { counterAt } from "./counter-cells.ts";
import { counterText, counterValue } from "./counter-text.ts";
import { CountersFeed } from "./counters-feed.ts";
import { Engine } from "./engine.ts";
import { Finder } from "./finder.ts";
import { Gestures } from "./gestures.ts";
import { Hover, type HoverParts } from "./hover.ts";
import { registerKeys } from "./keys.ts";
import type { Lane } from "./lane-layout.ts";
import { Minimap } from "./minimap.ts";
import type { Model } from "./model.ts";
import { Motion } from "./motion.ts";
import { RULER_PX } from "./screen.ts";
import { Sync } from "./url-sync.ts";

/** The elements it works on. */
export interface ControllerParts extends HoverParts {
  tracks: HTMLElement;
  /** None where there is no room for one. */
  minimap: HTMLCanvasElement | undefined;
  pinned: HTMLElement;
  pinnedInner: HTMLElement;
  lanes: HTMLElement;
  bar: HTMLElement;
  barInner: HTMLElement;
}

export interface ControllerOptions {
  gpu: boolean;
  focusSearch(): void;
  /** Part of another view, which has keys and a URL of its own. */
  embedded?: boolean;
}

const LABEL_ROOM = 40;

export class Controller {
  readonly model: Model;
  readonly motion: Motion;
  readonly engine: Engine;
  readonly actions: Actions;
  readonly finder: Finder;
  readonly countersFeed: CountersFeed;
  /** The scrolled lanes in sight: first, and one past the last. */
  readonly seen = signal<readonly [number, number]>([0, 0]);
  /** Elements of lanes in the page, by key. */
  readonly labels = new Map<string, HTMLElement>();
  readonly #parts: ControllerParts;
  readonly #gestures: Gestures;
  readonly #hover: Hover;
  readonly #minimap: Minimap | undefined;
  readonly #sync: Sync;
  readonly #stops: (() => void)[] = [];
  #time: number | undefined;

  constructor(model: Model, parts: ControllerParts, options: ControllerOptions) {
    this.model = model;
    this.#parts = parts;
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    this.motion = new Motion(model, () => still.matches);
    this.engine = new Engine(parts.tracks, model, this.motion, options.gpu);
    this.actions = new Actions(model, this.motion, this.engine.screen);
    this.#hover = new Hover(parts, this.engine, model);
    this.#hover.onTime = (time) => this.#values(time);
    this.#gestures = new Gestures(parts.tracks, this.engine, this.actions, this.#hover);
    this.#minimap = parts.minimap && new Minimap(parts.minimap, model, this.motion);
    this.countersFeed = new CountersFeed(model, () => this.engine.screen.width);
    this.finder = new Finder(model, this.actions, (refs) => {
      this.engine.found = refs;
    });
    this.#sync = new Sync(model, this.actions);
    this.engine.onResize = () => this.actions.resized();
    this.engine.onFrame = () => this.#afterFrame();
    this.#wire(options);
  }

  #wire({ focusSearch, embedded }: ControllerOptions): void {
    const { model, engine, finder, countersFeed } = this;
    const stops = this.#stops;
    stops.push(
      model.onRedraw(() => engine.invalidate()),
      model.onMove(() => {
        finder.moved();
        countersFeed.moved();
      }),
    );
    if (!embedded) {
      stops.push(registerKeys({ actions: this.actions, finder, focusSearch }));
      this.#sync.start();
    }
    this.#onScrollbar();
    stops.push(
      effect(() => {
        theme.value;
        engine.retheme();
        this.#minimap?.refresh();
      }),
      effect(() => this.#minimap?.refresh(countersFeed.whole.value, model.hits.value?.density)),
      effect(() => {
        model.query.value;
        finder.ask();
      }),
      effect(() => {
        if (model.showPath.value) void countersFeed.loadPath();
      }),
      effect(() => {
        if (!online.value) return;
        model.tiles.retryNow();
        const chosen = model.selection.peek();
        if (chosen?.problem) void this.actions.select(chosen.id, chosen.hit);
      }),
      effect(() => {
        model.laneLayout.value;
        engine.invalidate();
        untracked(() => this.actions.resized());
      }),
      effect(() => {
        model.selection.value;
        model.area.value;
        model.marks.value;
        model.counters.value;
        engine.invalidate();
      }),
    );
    void countersFeed.start();
  }

  /** The wheel over the lanes' names does what it does over the rows. */
  wheel(event: WheelEvent): void {
    this.#gestures.wheel(event);
  }

  #onScrollbar(): void {
    const { bar } = this.#parts;
    const onScroll = () => {
      if (Math.abs(bar.scrollTop - this.model.scroll) < 1) return;
      this.model.scrollBy(bar.scrollTop - this.model.scroll);
    };
    bar.addEventListener("scroll", onScroll, { passive: true });
    this.#stops.push(() => bar.removeEventListener("scroll", onScroll));
  }

  #afterFrame(): void {
    const { screen } = this.engine;
    const { pinned, pinnedInner, lanes, bar, barInner } = this.#parts;
    setStyle(pinned, "height", `${screen.split - RULER_PX}px`);
    setStyle(pinnedInner, "transform", `translateY(${-screen.pinScroll}px)`);
    setStyle(lanes, "transform", `translateY(${-screen.scroll}px)`);
    setStyle(bar, "visibility", screen.mostScroll > 0 ? "visible" : "hidden");
    setStyle(barInner, "height", `${bar.clientHeight + screen.mostScroll}px`);
    if (Math.abs(bar.scrollTop - screen.scroll) >= 1) bar.scrollTop = screen.scroll;
    this.#seeLanes();
    this.#minimap?.draw();
    this.#hover.refresh();
    if (this.#time === undefined) this.#values(undefined);
  }

  /** Which lanes are in sight; their names stay in sight while any of their rows is. */
  #seeLanes(): void {
    const { screen } = this.engine;
    const room = screen.height - screen.split;
    const all = screen.laneLayout.lanes;
    let first = 0;
    while (first < all.length && all[first]!.y + all[first]!.height < screen.scroll) first++;
    let last = first;
    while (last < all.length && all[last]!.y < screen.scroll + room) last++;
    const [oldFirst, oldLast] = this.seen.value;
    if (oldFirst !== first || oldLast !== last) this.seen.value = [first, last];
    for (let i = first; i < last; i++) this.#holdLabel(all[i]!, screen.scroll);
  }

  #holdLabel(lane: Lane, scroll: number): void {
    const label = this.labels.get(lane.key)?.firstElementChild;
    if (!(label instanceof HTMLElement)) return;
    const down = Math.max(0, Math.min(scroll - lane.y, lane.height - LABEL_ROOM));
    setStyle(label, "transform", down > 0 ? `translateY(${down}px)` : "");
  }

  /** Writes the counters' values at the pointer, or their highest, beside their names. */
  #values(time: number | undefined): void {
    this.#time = time;
    for (const counter of this.model.counters.value) {
      const place = this.labels.get(`c:${counter.id}`)?.querySelector(".tl-value");
      if (!place) continue;
      const at = time === undefined ? undefined : counterAt(counter, time);
      const text = at ? counterText(counter, at) : `up to ${counterValue(counter, counter.max)}`;
      if (place.textContent !== text) place.textContent = text;
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.#sync.close();
    this.#gestures.close();
    this.#minimap?.close();
    this.finder.close();
    this.countersFeed.close();
    this.engine.close();
    this.model.close();
  }
}

function setStyle(element: HTMLElement, property: "height" | "transform" | "visibility", value: string): void {
  if (element.style[property] !== value) element.style[property] = value;
}
