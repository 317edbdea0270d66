// Smooth motion: keys held down, and short glides from one window to another. Steps with the frames, knows no canvas.

import type { Model } from "./model.ts";
import { between, clamp, pan, type Span, zoomAt } from "./visible-span.ts";

/** Held: this share of the window a second. */
const PAN_SPEED = 1.1;
/** Held: the window grows or shrinks by this factor a second. */
const ZOOM_SPEED = 7;
const SCROLL_SPEED = 900;
/** Until a held key has reached its full speed. */
const EASE_MS = 120;
const GLIDE_MS = 180;
/** One press without holding, as from the palette. */
const NUDGE_MS = 160;

export type Held = "left" | "right" | "in" | "out" | "up" | "down";

export class Motion {
  readonly #model: Model;
  readonly #still: () => boolean;
  /** Since when each direction is held. */
  readonly #held = new Map<Held, number>();
  readonly #codes = new Map<string, Held>();
  #glide: { from: Span; to: Span; since: number } | undefined;
  #last = 0;
  /** Where zooming holds on, as a share of the width. */
  anchor = 0.5;

  constructor(model: Model, still: () => boolean) {
    this.#model = model;
    this.#still = still;
  }

  get moving(): boolean {
    return this.#held.size > 0 || this.#glide !== undefined;
  }

  /** A key goes down; without one, a short push. */
  hold(held: Held, code: string | undefined, now: number): void {
    this.#glide = undefined;
    if (code === undefined) {
      this.#move(held, NUDGE_MS / 1000);
      return;
    }
    this.#codes.set(code, held);
    if (!this.#held.has(held)) this.#held.set(held, now);
    this.#model.redraw();
  }

  release(code: string): void {
    const held = this.#codes.get(code);
    if (held === undefined) return;
    this.#codes.delete(code);
    if (![...this.#codes.values()].includes(held)) this.#held.delete(held);
  }

  releaseAll(): void {
    this.#codes.clear();
    this.#held.clear();
  }

  /** Glides to a window, or is there at once for those who want no motion. */
  glide(to: Span, now: number): void {
    const target = clamp(to, this.#model.bounds);
    if (this.#still()) {
      this.#model.view = target;
      return;
    }
    this.#glide = { from: { ...this.#model.view }, to: target, since: now };
    this.#model.redraw();
  }

  /** Where the window will come to rest. */
  get target(): Span {
    return this.#glide?.to ?? this.#model.view;
  }

  stop(): void {
    this.#glide = undefined;
  }

  /** Moves by the time since the last frame. */
  step(now: number): void {
    const seconds = Math.min(0.05, Math.max(0, (now - this.#last) / 1000));
    this.#last = now;
    if (this.#glide) {
      const { from, to, since } = this.#glide;
      const share = Math.min(1, Math.max(0, (now - since) / GLIDE_MS));
      const eased = 1 - (1 - share) ** 3;
      if (share === 1) this.#glide = undefined;
      this.#model.view = share === 1 ? to : between(from, to, eased);
      return;
    }
    for (const [held, since] of this.#held) {
      const ease = Math.min(1, 0.25 + Math.max(0, now - since) / EASE_MS);
      this.#move(held, seconds * ease);
    }
  }

  #move(held: Held, seconds: number): void {
    const model = this.#model;
    const { view, bounds } = model;
    const length = view.to - view.from;
    if (held === "left") model.view = pan(view, -PAN_SPEED * seconds * length, bounds);
    else if (held === "right") model.view = pan(view, PAN_SPEED * seconds * length, bounds);
    else if (held === "in") model.view = zoomAt(view, ZOOM_SPEED ** -seconds, this.anchor, bounds);
    else if (held === "out") model.view = zoomAt(view, ZOOM_SPEED ** seconds, this.anchor, bounds);
    else model.scrollBy((held === "down" ? 1 : -1) * SCROLL_SPEED * seconds);
  }
}
