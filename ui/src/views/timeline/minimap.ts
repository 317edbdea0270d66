// The minimap: the whole trace, what is in sight of it, where the search found something. Can be dragged.

import type { Counter } from "../../data/types.ts";
import { resize } from "../../draw/painter.ts";
import { type Palette, pagePalette } from "../../draw/palette.ts";
import { startDrag } from "../../parts/drag.ts";
import { boxOf, draggedTo, gripAt, isClick, MIN_WINDOW_PX, type MinimapState, xOf } from "./minimap-drag.ts";
import type { Model } from "./model.ts";
import type { Motion } from "./motion.ts";
import { center } from "./visible-span.ts";

export class Minimap {
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
  #held = false;
  #stale = true;
  #left = -1;
  #right = -1;

  constructor(canvas: HTMLCanvasElement, model: Model, motion: Motion) {
    this.#canvas = canvas;
    this.#model = model;
    this.#motion = motion;
    const options = { signal: this.#stop.signal };
    canvas.addEventListener("pointerdown", (event) => this.#down(event), options);
    canvas.addEventListener("pointermove", (event) => this.#hover(event), options);
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

  get #map(): MinimapState {
    return { width: this.#canvas.clientWidth, extent: this.#model.extent, view: this.#model.view };
  }
  #x(time: number): number {
    return xOf(this.#map, time);
  }

  draw(): void {
    const ratio = globalThis.devicePixelRatio || 1;
    const width = this.#canvas.clientWidth;
    const height = this.#canvas.clientHeight;
    const context = this.#canvas.getContext("2d");
    if (!context || width === 0) return;
    const { left, right } = boxOf(this.#map);
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
    context.strokeRect(left + 0.75, 0.75, Math.max(MIN_WINDOW_PX, right - left - 1.5), height - 1.5);
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

  #drawCounter(context: CanvasRenderingContext2D, counter: Counter, height: number, color: string): void {
    // Its shape, not its height: scaled to the highest value there is.
    const most = Math.max(...counter.hi, 1e-9);
    context.fillStyle = color;
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
    color: string,
  ) {
    const most = Math.max(1, ...density);
    context.fillStyle = color;
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

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const model = this.#model;
    const grip = gripAt(this.#map, this.#place(event));
    this.#held = true;
    model.dragging.value = true;
    this.#motion.stop();
    const end = () => {
      this.#held = false;
      model.dragging.value = false;
    };
    startDrag(this.#canvas, event, {
      move: (to) => {
        const next = draggedTo(this.#map, grip, this.#place(to));
        if (next !== model.view) model.view = next;
      },
      end: (at) => {
        end();
        if (grip.kind === "new" && isClick(grip, this.#place(at)))
          this.#motion.glide(center(model.view, grip.from, model.extent), performance.now());
      },
      cancel: end,
    });
  }

  #hover(event: PointerEvent): void {
    if (!this.#held) this.#canvas.dataset.grip = gripAt(this.#map, this.#place(event)).kind;
  }
}
