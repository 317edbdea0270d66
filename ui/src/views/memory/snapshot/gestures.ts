// Pointer, wheel and keys on the stacked allocations: as on the timeline where there is the same to do.

import { startDrag } from "../../../parts/drag.ts";
import { type Command, register } from "../../../session/commands.ts";
import { BOTTOM_PX, type Board, LEFT_PX, TOP_PX } from "./board.ts";
import type { Model } from "./model.ts";
import { drawnAt } from "./picture.ts";
import { panWindow, zoomAxis, zoomBytes } from "./visible-window.ts";

const CLICK_PX = 4;
/** A box flatter than this is about time alone. */
const FLAT_PX = 12;
const WHEEL_ZOOM = 0.0022;
const LINE_PX = 20;
/** Held keys: shares of the window, and factors of zoom, per second. */
const PAN_SPEED = 1.1;
const ZOOM_SPEED = 7;
/** One press without holding, as from the palette. */
const NUDGE_SECONDS = 0.16;

type Held = "in" | "out" | "left" | "right" | "up" | "down" | "taller" | "flatter";

export interface Pointed {
  x: number;
  y: number;
  /** The allocation there, as its place among the drawn ones. */
  drawn: number | undefined;
}

export interface GestureTargets {
  hover(at: Pointed | undefined): void;
  choose(at: Pointed): void;
  clear(): void;
  focus(): void;
  peak(): void;
}

export class Gestures {
  readonly #board: Board;
  readonly #model: Model;
  readonly #targets: GestureTargets;
  readonly #stop = new AbortController();
  readonly #unregister: () => void;
  readonly #held = new Map<string, Held>();
  #last = 0;

  constructor(host: HTMLElement, board: Board, model: Model, targets: GestureTargets) {
    this.#board = board;
    this.#model = model;
    this.#targets = targets;
    const options = { signal: this.#stop.signal };
    host.addEventListener("pointerdown", (event) => this.#down(host, event), options);
    host.addEventListener("pointermove", (event) => this.#hover(event), options);
    host.addEventListener("pointerleave", () => this.#leave(), options);
    host.addEventListener("dblclick", () => model.show(model.home), options);
    host.addEventListener("wheel", (event) => this.#wheel(event), { ...options, passive: false });
    addEventListener("keyup", (event) => this.#held.delete(event.code), options);
    addEventListener("blur", () => this.#held.clear(), options);
    board.step = (now) => this.#step(now);
    this.#unregister = this.#keys();
  }

  close(): void {
    this.#stop.abort();
    this.#unregister();
  }

  #place(event: MouseEvent): { x: number; y: number } {
    const box = this.#board.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #pointed(x: number, y: number): Pointed {
    const at = this.#board.at(x, y);
    const picture = this.#model.pictureAt(at.x);
    return { ...at, drawn: picture && drawnAt(picture, at.x, at.y) };
  }

  #isInside(x: number, y: number): boolean {
    const board = this.#board;
    return x >= LEFT_PX && x <= board.width && y >= TOP_PX && y <= board.height - BOTTOM_PX;
  }

  #hover(event: PointerEvent): void {
    const { x, y } = this.#place(event);
    const inside = this.#isInside(x, y);
    this.#board.pointer = inside ? { x, y } : undefined;
    this.#targets.hover(inside && !this.#board.box ? this.#pointed(x, y) : undefined);
    this.#board.invalidate();
  }

  #leave(): void {
    this.#board.pointer = undefined;
    this.#targets.hover(undefined);
    this.#board.invalidate();
  }

  #down(host: HTMLElement, event: PointerEvent): void {
    if (event.button > 1) return;
    const start = this.#place(event);
    if (!this.#isInside(start.x, start.y)) return;
    const pans = event.shiftKey || event.button === 1 || event.pointerType === "touch";
    const model = this.#model;
    const before = model.window;
    const { width, height } = this.#board.inner;
    let moved = false;
    // The wheel as a button would scroll by itself.
    if (event.button === 1) event.preventDefault();
    startDrag(host, event, {
      move: (to) => {
        const { x, y } = this.#place(to);
        moved ||= Math.hypot(x - start.x, y - start.y) > CLICK_PX;
        if (!moved) return;
        if (pans) {
          model.show(panWindow(before, (start.x - x) / width, (y - start.y) / height, model.extent));
          return;
        }
        this.#board.box = this.#box(start, { x, y });
        this.#board.invalidate();
      },
      end: (at) => {
        const { box } = this.#board;
        this.#board.box = undefined;
        if (!moved) {
          const { x, y } = this.#place(at);
          this.#targets.choose(this.#pointed(x, y));
        } else if (box) this.#open(box);
        this.#board.invalidate();
      },
      cancel: () => {
        this.#board.box = undefined;
        this.#board.invalidate();
      },
    });
  }

  #box(a: { x: number; y: number }, b: { x: number; y: number }) {
    const board = this.#board;
    const flat = Math.abs(a.y - b.y) < FLAT_PX;
    const clampX = (x: number) => Math.min(board.width, Math.max(LEFT_PX, x));
    const clampY = (y: number) => Math.min(board.height - BOTTOM_PX, Math.max(TOP_PX, y));
    return {
      x0: clampX(Math.min(a.x, b.x)),
      x1: clampX(Math.max(a.x, b.x)),
      y0: flat ? TOP_PX : clampY(Math.min(a.y, b.y)),
      y1: flat ? board.height - BOTTOM_PX : clampY(Math.max(a.y, b.y)),
    };
  }

  #open(box: { x0: number; y0: number; x1: number; y1: number }): void {
    const { window } = this.#model;
    const [from, to] = [this.#board.at(box.x0, box.y1), this.#board.at(box.x1, box.y0)];
    const tall = box.y1 - box.y0 > FLAT_PX;
    this.#model.show({
      from: from.x,
      to: to.x,
      low: tall ? from.y : window.low,
      high: tall ? to.y : window.high,
    });
  }

  #wheel(event: WheelEvent): void {
    const model = this.#model;
    const step = event.deltaMode === 1 ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * step, event.deltaY * step];
    const { x, y } = this.#place(event);
    const { width, height } = this.#board.inner;
    const right = (x - LEFT_PX) / width;
    const up = 1 - (y - TOP_PX) / height;
    if (event.ctrlKey || event.metaKey) {
      const factor = Math.exp(dy * WHEEL_ZOOM);
      const zoom = event.shiftKey || event.altKey ? zoomBytes : zoomAxis;
      model.show(zoom(model.window, factor, zoom === zoomAxis ? right : up, model.extent));
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      const by = event.shiftKey ? dx + dy : dx;
      model.show(panWindow(model.window, by / width, 0, model.extent));
      // Without these keys the page scrolls.
    } else return;
    event.preventDefault();
  }

  #keys(): () => void {
    const one = (id: string, name: string, keys: string[], run: (event?: KeyboardEvent) => void): Command => ({
      id: `memory-${id}`,
      name,
      view: "memory",
      keys,
      run,
    });
    const held = (id: Held, name: string, keys: string[]) =>
      one(id, name, keys, (event) => this.#hold(id, event?.code));
    const gesture = (id: string, name: string, keys: string[]): Command => ({
      ...one(id, name, keys, () => {}),
      hidden: true,
    });
    return register([
      held("in", "Zoom in at the pointer", ["KeyW", "Equal"]),
      held("out", "Zoom out at the pointer", ["KeyS", "Minus"]),
      held("left", "Move left", ["KeyA", "ArrowLeft"]),
      held("right", "Move right", ["KeyD", "ArrowRight"]),
      held("up", "Move to more bytes", ["Shift+ArrowUp"]),
      held("down", "Move to fewer bytes", ["Shift+ArrowDown"]),
      held("taller", "Zoom in on bytes at the pointer", ["Shift+KeyW"]),
      held("flatter", "Zoom out of bytes at the pointer", ["Shift+KeyS"]),
      one("all", "Show the whole history", ["Digit0"], () => this.#model.show(this.#model.home)),
      one("focus", "Fit the selected allocation to the window", ["KeyF"], () => this.#targets.focus()),
      one("peak", "Look at the peak", ["KeyP"], () => this.#targets.peak()),
      one("clear", "Clear the selection, then show the whole history", ["Escape"], () => this.#targets.clear()),
      gesture("wheel-zoom", "Zoom at the pointer; with Shift, zoom bytes", ["Ctrl+wheel"]),
      gesture("wheel-pan", "Move", ["Shift+wheel", "Shift+drag"]),
      gesture("drag", "Zoom to a rectangle", ["drag"]),
      gesture("click", "Look at a moment and the allocation there", ["click"]),
    ]);
  }

  /** A key goes down; without one, a short push. */
  #hold(held: Held, code: string | undefined): void {
    if (code === undefined) this.#move(held, NUDGE_SECONDS);
    else {
      if (this.#held.size === 0) this.#last = performance.now();
      this.#held.set(code, held);
    }
    this.#board.invalidate();
  }

  #step(now: number): boolean {
    const seconds = Math.min(0.05, Math.max(0, (now - this.#last) / 1000));
    this.#last = now;
    for (const held of new Set(this.#held.values())) this.#move(held, seconds);
    return this.#held.size > 0;
  }

  #move(held: Held, seconds: number): void {
    const model = this.#model;
    const { window, extent } = model;
    const { pointer } = this.#board;
    const { width, height } = this.#board.inner;
    const right = pointer ? (pointer.x - LEFT_PX) / width : 0.5;
    const up = pointer ? 1 - (pointer.y - TOP_PX) / height : 0.5;
    const pan = PAN_SPEED * seconds;
    const moves: Record<Held, () => void> = {
      in: () => model.show(zoomAxis(window, ZOOM_SPEED ** -seconds, right, extent)),
      out: () => model.show(zoomAxis(window, ZOOM_SPEED ** seconds, right, extent)),
      taller: () => model.show(zoomBytes(window, ZOOM_SPEED ** -seconds, up, extent)),
      flatter: () => model.show(zoomBytes(window, ZOOM_SPEED ** seconds, up, extent)),
      left: () => model.show(panWindow(window, -pan, 0, extent)),
      right: () => model.show(panWindow(window, pan, 0, extent)),
      up: () => model.show(panWindow(window, 0, pan, extent)),
      down: () => model.show(panWindow(window, 0, -pan, extent)),
    };
    moves[held]();
  }
}
