// The strip above: the whole trace, what is in sight of it, where the search found something. Can be dragged.

import type { Counter } from "../../data/types.ts";
import { resize } from "../../draw/painter.ts";
import { type Palette, pagePalette } from "../../draw/palette.ts";
import type { Model } from "./model.ts";
import type { Motion } from "./motion.ts";
import { centre, type Span } from "./window.ts";

const EDGE_PX = 6;
const LEAST_PX = 3;
const CLICK_PX = 4;

type Drag =
  | { kind: "move"; offset: number }
  | { kind: "edge"; fixed: number }
  | { kind: "new"; x: number; from: number };

export class Strip {
  readonly #canvas: HTMLCanvasElement;
  readonly #model: Model;
  readonly #motion: Motion;
  readonly #stop = new AbortController();
  readonly #resize: ResizeObserver;
  /** What does not change with the window, drawn once. */
  readonly #back = document.createElement("canvas");
  #palette: Palette = pagePalette();
  #counters: readonly Counter[] = [];
  #density: readonly number[] | undefined;
  #drag: Drag | undefined;
  #stale = true;
  #left = -1;
  #right = -1;

  constructor(canvas: HTMLCanvasElement, model: Model, motion: Motion) {
    this.#canvas = canvas;
    this.#model = model;
    this.#motion = motion;
    const options = { signal: this.#stop.signal };
    canvas.addEventListener("pointerdown", (event) => this.#down(event), options);
    canvas.addEventListener("pointermove", (event) => this.#move(event), options);
    canvas.addEventListener("pointerup", (event) => this.#up(event), options);
    canvas.addEventListener("pointercancel", () => this.#end(), options);
    this.#resize = new ResizeObserver(() => this.refresh());
    this.#resize.observe(canvas);
  }

  close(): void {
    this.#stop.abort();
    this.#resize.disconnect();
  }

  /** What it shows changed. */
  refresh(counters = this.#counters, density = this.#model.hits.value?.density): void {
    this.#counters = counters;
    this.#density = density;
    this.#palette = pagePalette();
    this.#stale = true;
    this.draw();
  }

  #x(time: number): number {
    return (time / Math.max(1, this.#model.extent)) * this.#canvas.clientWidth;
  }
  #time(x: number): number {
    return (x / Math.max(1, this.#canvas.clientWidth)) * this.#model.extent;
  }

  draw(): void {
    const ratio = globalThis.devicePixelRatio || 1;
    const width = this.#canvas.clientWidth;
    const height = this.#canvas.clientHeight;
    const context = this.#canvas.getContext("2d");
    if (!context || width === 0) return;
    const { left, right } = this.#box();
    if (!this.#stale && left === this.#left && right === this.#right) return;
    this.#left = left;
    this.#right = right;
    resize(this.#canvas, width, height, ratio);
    if (this.#stale) this.#drawBack(width, height, ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.#back, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.#palette.css.sunken;
    context.globalAlpha = 0.6;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = this.#palette.css.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(LEAST_PX, right - left - 1.5), height - 1.5);
  }

  #box(): { left: number; right: number } {
    const { view } = this.#model;
    const width = this.#canvas.clientWidth;
    const left = Math.max(0, Math.min(width - LEAST_PX, this.#x(view.from)));
    return { left, right: Math.max(left + LEAST_PX, Math.min(width, this.#x(view.to))) };
  }

  #drawBack(width: number, height: number, ratio: number): void {
    this.#stale = false;
    resize(this.#back, width, height, ratio);
    const context = this.#back.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { css } = this.#palette;
    context.fillStyle = css.surface;
    context.fillRect(0, 0, width, height);
    const counter = this.#counters.find((one) => one.unit === "share") ?? this.#counters[0];
    if (counter) this.#drawCounter(context, counter, height, css.accent);
    context.fillStyle = css.quiet;
    const steps = this.#model.layout.steps;
    if (steps.length < width / 4)
      for (const step of steps) context.fillRect(Math.round(this.#x(step.start_ns)), 0, 1, 5);
    if (this.#density) this.#drawDensity(context, this.#density, width, height, css.bad);
  }

  #drawCounter(context: CanvasRenderingContext2D, counter: Counter, height: number, colour: string): void {
    // Its shape, not its height: scaled to the highest value there is.
    const most = Math.max(...counter.hi, 1e-9);
    context.fillStyle = colour;
    context.globalAlpha = 0.45;
    counter.t.forEach((time, i) => {
      const left = this.#x(time);
      const right = this.#x(counter.t[i + 1] ?? this.#model.extent);
      const tall = ((counter.hi[i] ?? 0) / most) * (height - 8);
      context.fillRect(left, height - tall, right - left + 0.3, tall);
    });
    context.globalAlpha = 1;
  }

  #drawDensity(
    context: CanvasRenderingContext2D,
    density: readonly number[],
    width: number,
    height: number,
    colour: string,
  ) {
    const most = Math.max(1, ...density);
    context.fillStyle = colour;
    density.forEach((hits, i) => {
      if (hits === 0) return;
      const tall = 3 + (Math.log1p(hits) / Math.log1p(most)) * (height / 2 - 3);
      context.fillRect(
        (i / density.length) * width,
        height - tall,
        Math.max(1.5, width / density.length - 0.5),
        tall,
      );
    });
  }

  #place(event: PointerEvent): number {
    return event.clientX - this.#canvas.getBoundingClientRect().left;
  }

  #grip(x: number): Drag {
    const { left, right } = this.#box();
    const { view } = this.#model;
    if (right - left > 3 * EDGE_PX || x < left || x > right) {
      if (Math.abs(x - left) <= EDGE_PX) return { kind: "edge", fixed: view.to };
      if (Math.abs(x - right) <= EDGE_PX) return { kind: "edge", fixed: view.from };
    }
    const all = right - left > this.#canvas.clientWidth * 0.97;
    if (x > left && x < right && !all) return { kind: "move", offset: this.#time(x) - view.from };
    return { kind: "new", x, from: this.#time(x) };
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#motion.stop();
    this.#drag = this.#grip(this.#place(event));
  }

  #move(event: PointerEvent): void {
    const x = this.#place(event);
    const drag = this.#drag;
    if (!drag) {
      const { kind } = this.#grip(x);
      this.#canvas.dataset.grip = kind;
      return;
    }
    const { view, extent } = this.#model;
    const time = Math.max(0, Math.min(extent, this.#time(x)));
    if (drag.kind === "move") {
      const from = this.#time(x) - drag.offset;
      this.#model.view = { from, to: from + view.to - view.from };
    } else if (drag.kind === "edge") this.#set(drag.fixed, time);
    else if (Math.abs(x - drag.x) > CLICK_PX) this.#set(drag.from, time);
  }

  #set(a: number, b: number): void {
    const span: Span = { from: Math.min(a, b), to: Math.max(a, b) };
    if (span.to > span.from) this.#model.view = span;
  }

  #up(event: PointerEvent): void {
    const drag = this.#drag;
    const x = this.#place(event);
    this.#end();
    if (drag?.kind === "new" && Math.abs(x - drag.x) <= CLICK_PX)
      this.#motion.glide(centre(this.#model.view, drag.from, this.#model.extent), performance.now());
  }

  #end(): void {
    this.#drag = undefined;
  }
}
