// Pointer and wheel on the rows: hover, click, area, pan, zoom, scroll.

import { startDrag } from "../../parts/drag.ts";
import type { Actions } from "./actions.ts";
import { NO_SLICE, pieceAt } from "./critical-path.ts";
import type { Engine } from "./engine.ts";
import { itemAt } from "./hit.ts";
import type { Hover } from "./hover.ts";
import { RULER_PX } from "./screen.ts";
import { pan, zoomAt } from "./visible-span.ts";

const CLICK_PX = 4;
const EDGE_PX = 5;
/** How far beside a slice a click still means it. */
const REACH_PX = 4;
const WHEEL_ZOOM = 0.0022;
const LINE_PX = 20;

type Drag =
  | { kind: "press"; x: number; y: number; ruler: boolean }
  | { kind: "area"; time: number; y: number; ruler: boolean }
  | { kind: "edge"; fixed: number }
  | { kind: "pan"; x: number; y: number };

export class Gestures {
  readonly #host: HTMLElement;
  readonly #engine: Engine;
  readonly #actions: Actions;
  readonly #hover: Hover;
  #drag: Drag | undefined;
  readonly #stop = new AbortController();

  constructor(host: HTMLElement, engine: Engine, actions: Actions, hover: Hover) {
    this.#host = host;
    this.#engine = engine;
    this.#actions = actions;
    this.#hover = hover;
    const options = { signal: this.#stop.signal };
    host.addEventListener("pointerdown", (event) => this.#down(event), options);
    host.addEventListener("pointermove", (event) => this.#hoverAt(event), options);
    host.addEventListener("pointerleave", () => this.#hover.hide(), options);
    host.addEventListener("dblclick", (event) => this.#twice(event), options);
    host.addEventListener("wheel", (event) => this.wheel(event), { ...options, passive: false });
  }

  close(): void {
    this.#stop.abort();
  }

  #place(event: MouseEvent): { x: number; y: number } {
    const box = this.#host.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #down(event: PointerEvent): void {
    if (event.button > 1) return;
    const { x, y } = this.#place(event);
    startDrag(this.#host, event, {
      move: (to) => this.#move(to),
      end: (at) => this.#up(at),
      cancel: () => this.#end(),
    });
    this.#actions.model.dragging.value = true;
    this.#actions.motion.stop();
    if (event.shiftKey || event.button === 1 || event.pointerType === "touch") {
      event.preventDefault();
      this.#drag = { kind: "pan", x, y };
      this.#host.classList.add("panning");
      return;
    }
    const fixed = this.#edgeAt(x);
    this.#drag = fixed === undefined ? { kind: "press", x, y, ruler: y < RULER_PX } : { kind: "edge", fixed };
  }

  /** The other edge, if this is one edge of the area. */
  #edgeAt(x: number): number | undefined {
    const area = this.#actions.model.area.value;
    const { screen } = this.#engine;
    if (!area) return undefined;
    if (Math.abs(screen.x(area.from) - x) <= EDGE_PX) return area.to;
    if (Math.abs(screen.x(area.to) - x) <= EDGE_PX) return area.from;
    return undefined;
  }

  #hoverAt(event: PointerEvent): void {
    const { x, y } = this.#place(event);
    const { screen } = this.#engine;
    this.#actions.motion.anchor = Math.max(0, Math.min(1, x / screen.width));
    if (this.#drag) return;
    this.#hover.at(x, y);
    this.#actions.lane = screen.at(y)?.lane.key;
    this.#host.classList.toggle("on-edge", this.#edgeAt(x) !== undefined);
  }

  #move(event: PointerEvent): void {
    const { x, y } = this.#place(event);
    const { screen } = this.#engine;
    const drag = this.#drag;
    if (!drag) return;
    if (drag.kind === "pan") this.#pan(drag, x, y);
    else if (drag.kind === "edge") this.#resizeArea(drag.fixed, screen.time(x));
    else if (drag.kind === "area") this.#spanArea(drag, x, y);
    else if (Math.abs(x - drag.x) > CLICK_PX || Math.abs(y - drag.y) > CLICK_PX) {
      this.#hover.hide();
      this.#drag = { kind: "area", time: screen.time(drag.x), y: drag.y, ruler: drag.ruler };
      this.#spanArea(this.#drag, x, y);
    }
  }

  #pan(drag: { x: number; y: number }, x: number, y: number): void {
    const { model } = this.#actions;
    const { screen } = this.#engine;
    this.#hover.hide();
    if (y !== drag.y) model.scrollBy(drag.y - y);
    model.view = pan(model.view, (drag.x - x) * screen.nsPerPixel, model.bounds);
    drag.x = x;
    drag.y = y;
  }

  #spanArea(drag: { time: number; y: number; ruler: boolean }, x: number, y: number): void {
    const { screen } = this.#engine;
    const rows = drag.ruler
      ? screen.rowsBetween(RULER_PX, Number.POSITIVE_INFINITY)
      : screen.rowsBetween(drag.y, y);
    this.#setArea(drag.time, screen.time(x), rows);
  }

  #resizeArea(fixed: number, moving: number): void {
    this.#setArea(fixed, moving, this.#actions.model.area.value?.rows ?? []);
  }

  #setArea(a: number, b: number, rows: number[]): void {
    const { model } = this.#actions;
    const within = (time: number) => Math.round(Math.max(0, Math.min(model.extent, time)));
    const from = within(Math.min(a, b));
    const to = Math.max(from + 1, within(Math.max(a, b)));
    this.#actions.setArea({ from, to, rows });
    model.redraw();
  }

  #up(event: PointerEvent): void {
    const drag = this.#drag;
    this.#end();
    if (drag?.kind === "press" && !drag.ruler) this.#click(this.#place(event));
  }

  #end(): void {
    this.#drag = undefined;
    this.#host.classList.remove("panning");
    this.#actions.model.dragging.value = false;
  }

  #click({ x, y }: { x: number; y: number }): void {
    const { screen } = this.#engine;
    const spot = screen.at(y);
    if (spot?.lane.kind === "path") {
      const path = this.#actions.model.path.value;
      const piece = path && pieceAt(path, screen.time(x));
      const slice = piece === undefined ? NO_SLICE : path!.slices[piece]!;
      if (slice !== NO_SLICE) void this.#actions.jump(slice);
      return;
    }
    const hit = this.hitAt(x, y);
    if (hit) void this.#actions.select(hit.id, hit);
    else {
      this.#actions.model.selection.value = undefined;
      this.#actions.model.area.value = undefined;
    }
  }

  hitAt(x: number, y: number) {
    const { screen } = this.#engine;
    const row = screen.at(y)?.row ?? -1;
    if (row < 0) return undefined;
    const { from, to } = screen.view;
    return itemAt(this.#engine.piecesOf(row, from, to), screen.time(x), REACH_PX * screen.nsPerPixel);
  }

  #twice(event: MouseEvent): void {
    const { x, y } = this.#place(event);
    const hit = this.hitAt(x, y);
    if (hit) this.#actions.show({ from: hit.from, to: hit.to });
  }

  wheel(event: WheelEvent): void {
    const { x, y } = this.#place(event);
    const { model, motion } = this.#actions;
    const { screen } = this.#engine;
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const dx = event.deltaX * lines;
    const dy = event.deltaY * lines;
    event.preventDefault();
    motion.stop();
    if (event.ctrlKey || event.metaKey) {
      const factor = Math.exp(Math.max(-200, Math.min(200, dy)) * WHEEL_ZOOM);
      model.view = zoomAt(model.view, factor, Math.max(0, Math.min(1, x / screen.width)), model.bounds);
    } else if (event.shiftKey) {
      model.view = pan(model.view, (dy || dx) * screen.nsPerPixel, model.bounds);
    } else {
      if (dx !== 0) model.view = pan(model.view, dx * screen.nsPerPixel, model.bounds);
      if (y < screen.split && screen.mostPinScroll > 0) model.pinScroll += dy;
      else if (dy !== 0) model.scrollBy(dy);
      model.redraw();
    }
    this.#hover.hide();
  }
}
