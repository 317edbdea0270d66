// Draws the stacked allocations, outside of Preact: on demand, at most once a frame. Pictures come as pixels and are drawn
// where they belong, so moving costs the same for ten allocations and for ten million.

import { parseColor, type Rgb } from "../../../draw/color.ts";
import { INKS, type Ink } from "../../../draw/palette.ts";
import { Fitter } from "../../../draw/text.ts";
import { byteLabel, byteTicks, timeTicks } from "../../../parts/charts/ticks.ts";
import { bytes } from "../../../parts/format.ts";
import { busy } from "../../../session/busy.ts";
import { drawnColors, type Look } from "./colors.ts";
import type { Model } from "./model.ts";
import { columnAt, fillPixels, type Picture, type Room, rooms } from "./picture.ts";
import { entryTicks } from "./ticks.ts";

/** Room for the axes. */
export const LEFT_PX = 66;
export const BOTTOM_PX = 22;
export const TOP_PX = 8;
const FONT = "11.5px system-ui, sans-serif";
/** Bands of at least so many pixels bear their name. */
const MIN_NAMED_HEIGHT_PX = 16;
const MIN_NAMED_WIDTH_PX = 70;

/** A picture as an image, with the names that fit. */
interface Painted {
  picture: Picture;
  look: string;
  image: HTMLCanvasElement;
  rooms: Room[];
}

export class Board {
  readonly canvas = document.createElement("canvas");
  width = 1;
  height = 1;
  /** Where the pointer is, in pixels of the canvas. */
  pointer: { x: number; y: number } | undefined;
  /** What is being dragged open. */
  box: { x0: number; y0: number; x1: number; y1: number } | undefined;
  /** Called before each frame: held keys move the window. */
  step: ((now: number) => boolean) | undefined;
  /** Milliseconds that the latest frames took. */
  readonly frames: number[] = [];
  readonly #model: Model;
  readonly #host: HTMLElement;
  readonly #resize: ResizeObserver;
  #whole: Painted | undefined;
  #part: Painted | undefined;
  #css = {} as Record<Ink, string>;
  #ground: Rgb = { r: 255, g: 255, b: 255 };
  #dark = false;
  #fitter: Fitter | undefined;
  #asked: number | undefined;
  #closed = false;

  constructor(host: HTMLElement, model: Model) {
    this.#host = host;
    this.#model = model;
    host.prepend(this.canvas);
    model.onChange = () => this.invalidate();
    this.#resize = new ResizeObserver(() => this.#measure());
    this.#resize.observe(host);
    this.retheme();
    this.#measure();
  }

  retheme(): void {
    const style = getComputedStyle(document.documentElement);
    this.#css = Object.fromEntries(INKS.map((ink) => [ink, style.getPropertyValue(`--${ink}`)])) as Record<
      Ink,
      string
    >;
    this.#ground = parseColor(this.#css.surface);
    this.#dark = this.#ground.r + this.#ground.g + this.#ground.b < 384;
    this.invalidate();
  }

  close(): void {
    this.#closed = true;
    this.#resize.disconnect();
    if (this.#asked !== undefined) {
      cancelAnimationFrame(this.#asked);
      busy(-1);
    }
    this.canvas.remove();
  }

  invalidate(): void {
    if (this.#asked !== undefined || this.#closed) return;
    busy(1);
    this.#asked = requestAnimationFrame((now) => {
      this.#asked = undefined;
      busy(-1);
      this.#frame(now);
    });
  }

  /** The inner width and height, where bands are. */
  get inner(): { width: number; height: number } {
    return { width: Math.max(1, this.width - LEFT_PX), height: Math.max(1, this.height - TOP_PX - BOTTOM_PX) };
  }

  x(at: number): number {
    const { from, to } = this.#model.window;
    return LEFT_PX + ((at - from) / (to - from)) * this.inner.width;
  }

  y(value: number): number {
    const { low, high } = this.#model.window;
    return this.height - BOTTOM_PX - ((value - low) / (high - low)) * this.inner.height;
  }

  /** The place of the axis and the bytes at a pixel. */
  at(x: number, y: number): { x: number; y: number } {
    const { from, to, low, high } = this.#model.window;
    return {
      x: from + ((x - LEFT_PX) / this.inner.width) * (to - from),
      y: low + ((this.height - BOTTOM_PX - y) / this.inner.height) * (high - low),
    };
  }

  #measure(): void {
    const { clientWidth, clientHeight } = this.#host;
    this.width = Math.max(1, clientWidth);
    this.height = Math.max(1, clientHeight);
    const { width, height } = this.inner;
    if (clientWidth > LEFT_PX && clientHeight > TOP_PX + BOTTOM_PX) this.#model.resize(width, height);
    this.invalidate();
  }

  #frame(now: number): void {
    const began = performance.now();
    const goesOn = this.step?.(now) ?? false;
    const model = this.#model;
    const ratio = globalThis.devicePixelRatio || 1;
    const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== wide) this.canvas.width = wide;
    if (this.canvas.height !== high) this.canvas.height = high;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    this.#fitter ??= new Fitter((text) => context.measureText(text).width);
    this.#grid(context);
    context.save();
    context.beginPath();
    context.rect(LEFT_PX, TOP_PX, this.inner.width, this.inner.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    const look: Look = {
      by: model.colorBy.peek(),
      dark: this.#dark,
      ground: this.#ground,
      id: model.chosen.peek(),
      place: model.lit.peek(),
    };
    this.#whole = this.#painted(this.#whole, model.whole, look);
    this.#part = this.#painted(this.#part, model.part, look);
    if (this.#part) {
      this.#draw(context, this.#whole, this.#part.picture);
      this.#draw(context, this.#part);
    } else this.#draw(context, this.#whole);
    this.#lowest(context);
    this.#reserved(context);
    this.#marks(context);
    context.restore();
    this.#life(context);
    this.#drag(context);
    this.frames.push(performance.now() - began);
    if (this.frames.length > 600) this.frames.shift();
    if (goesOn) this.invalidate();
  }

  /** The image of a picture, made anew only if the picture or its look changed. */
  #painted(old: Painted | undefined, picture: Picture | undefined, look: Look): Painted | undefined {
    if (!picture) return undefined;
    // The number of a line is that of one picture only.
    const own = picture === this.#model.shown.peek() ? look : { ...look, place: undefined };
    const key = JSON.stringify([own.by, own.dark, own.id, own.place]);
    if (old?.picture === picture && old.look === key) return old;
    const { columns, rows } = picture.head;
    const image = old?.image ?? document.createElement("canvas");
    image.width = columns;
    image.height = rows;
    const context = image.getContext("2d");
    const data = context?.createImageData(columns, rows);
    if (!context || !data) return undefined;
    const { colors, edges } = drawnColors(picture, own);
    fillPixels(picture, colors, edges, new Uint32Array(data.data.buffer));
    context.putImageData(data, 0, 0);
    const known =
      old?.picture === picture ? old.rooms : rooms(picture, MIN_NAMED_HEIGHT_PX, MIN_NAMED_WIDTH_PX);
    return { picture, look: key, image, rooms: known };
  }

  /** Draws an image where it belongs, except where a newer one lies. */
  #draw(context: CanvasRenderingContext2D, painted: Painted | undefined, except?: Picture): void {
    if (!painted) return;
    const { head } = painted.picture;
    const [left, right] = [this.x(head.from), this.x(head.to)];
    const [upper, lower] = [this.y(head.high), this.y(head.low)];
    context.drawImage(painted.image, left, upper, right - left, lower - upper);
    if (except) {
      const [from, to] = [this.x(except.head.from), this.x(except.head.to)];
      const [above, below] = [this.y(except.head.high), this.y(except.head.low)];
      context.clearRect(from, above, to - from, below - above);
      this.#grid(context, { from, to, above, below });
    } else this.#names(context, painted, left, right, upper, lower);
  }

  #names(
    context: CanvasRenderingContext2D,
    { picture, rooms }: Painted,
    left: number,
    right: number,
    upper: number,
    lower: number,
  ): void {
    const { head } = picture;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const dimmed = this.#model.chosen.peek() !== undefined || this.#model.lit.peek() !== undefined;
    context.fillStyle = this.#dark ? "#f4f6f8" : "#10141a";
    context.globalAlpha = dimmed ? 0.45 : 0.9;
    for (const room of rooms) {
      const from = Math.max(LEFT_PX, left + ((right - left) * room.from) / head.columns);
      const to = Math.min(this.width, left + ((right - left) * room.to) / head.columns);
      const low = lower - ((lower - upper) * room.low) / head.rows;
      const high = lower - ((lower - upper) * room.high) / head.rows;
      if (to - from < MIN_NAMED_WIDTH_PX || low - high < MIN_NAMED_HEIGHT_PX - 2) continue;
      const place = head.places[picture.place[room.drawn]!]?.place;
      const name = place ? `${bytes(picture.bytes[room.drawn]!)}  ${place.function}` : "";
      const text = this.#fitter?.fit(name, to - from - 12) ?? "";
      if (text) context.fillText(text, from + 6, (Math.max(high, TOP_PX) + low) / 2);
    }
    context.globalAlpha = 1;
  }

  #grid(
    context: CanvasRenderingContext2D,
    only?: { from: number; to: number; above: number; below: number },
  ): void {
    const { window, axis } = this.#model;
    const { width, height } = this.inner;
    const bottom = this.height - BOTTOM_PX;
    const [left, right] = only ? [only.from, only.to] : [LEFT_PX, LEFT_PX + width];
    context.fillStyle = this.#css.line;
    for (const value of byteTicks(window.low, window.high, Math.max(2, height / 60))) {
      const y = Math.round(this.y(value));
      if (!only || (y >= only.above && y < only.below)) context.fillRect(left, y, right - left, 1);
    }
    if (only) return;
    context.fillStyle = this.#css.quiet;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of byteTicks(window.low, window.high, Math.max(2, height / 60)))
      context.fillText(
        byteLabel(value),
        LEFT_PX - 8,
        Math.min(bottom - 4, Math.max(TOP_PX + 4, this.y(value))),
      );
    context.textBaseline = "alphabetic";
    const ticks =
      axis === "time"
        ? timeTicks(window.from, window.to, Math.max(2, width / 130))
        : entryTicks(window.from, window.to, Math.max(2, width / 130));
    for (const { at, label } of ticks) {
      const x = this.x(at);
      context.textAlign = x > this.width - 30 ? "right" : x < LEFT_PX + 20 ? "left" : "center";
      context.fillText(label, x, bottom + 15);
    }
  }

  /** How far it goes down within each column, where that is to be seen. */
  #lowest(context: CanvasRenderingContext2D): void {
    const picture = this.#model.part ?? this.#model.whole;
    if (!picture) return;
    const { head } = picture;
    const step = (head.to - head.from) / head.columns;
    context.fillStyle = this.#css.surface;
    context.globalAlpha = 0.35;
    for (let column = 0; column < head.columns; column++) {
      const [upper, lower] = [this.y(picture.total[picture.shows[column]!]!), this.y(picture.lowest[column]!)];
      if (lower - upper < 1.5) continue;
      const x = this.x(head.from + column * step);
      context.fillRect(x, upper, this.x(head.from + (column + 1) * step) - x, lower - upper);
    }
    context.globalAlpha = 1;
  }

  /** What was reserved, as a line over the bands. */
  #reserved(context: CanvasRenderingContext2D): void {
    const picture = this.#model.part ?? this.#model.whole;
    if (!picture || this.#model.stacked.of === "segments") return;
    context.strokeStyle = this.#css.text;
    context.globalAlpha = 0.75;
    context.lineWidth = 1.5;
    context.setLineDash([6, 4]);
    context.beginPath();
    const { head } = picture;
    const step = (head.to - head.from) / head.columns;
    for (let column = 0; column < head.columns; column++) {
      const y = this.y(picture.reserved[picture.shows[column]!]!);
      const x = this.x(head.from + column * step);
      if (column === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
      context.lineTo(this.x(head.from + (column + 1) * step), y);
    }
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** The state that is looked at, requests that failed, and the pointer. */
  #marks(context: CanvasRenderingContext2D): void {
    const model = this.#model;
    const bottom = this.height - BOTTOM_PX;
    context.fillStyle = this.#css.bad;
    for (const refusal of model.device.refusals) {
      const at = model.axis === "time" ? (refusal.at_ns ?? 0) : refusal.state;
      const x = Math.round(this.x(at));
      context.fillRect(x, TOP_PX, 2, bottom - TOP_PX);
      context.textAlign = x > this.width - 110 ? "right" : "left";
      context.textBaseline = "top";
      context.font = `600 ${FONT}`;
      context.fillText("out of memory", x + (x > this.width - 110 ? -6 : 7), TOP_PX + 2);
      context.font = FONT;
    }
    const at = this.stateX();
    if (at !== undefined) {
      const x = Math.round(this.x(at));
      context.fillStyle = this.#css.select;
      context.fillRect(x, TOP_PX, 1, bottom - TOP_PX);
      context.beginPath();
      context.moveTo(x - 5, TOP_PX);
      context.lineTo(x + 6, TOP_PX);
      context.lineTo(x + 0.5, TOP_PX + 8);
      context.fill();
    }
    const { pointer } = this;
    if (pointer && !this.box) {
      context.fillStyle = this.#css.quiet;
      context.fillRect(Math.round(pointer.x), TOP_PX, 1, bottom - TOP_PX);
    }
  }

  /** How long the chosen allocation lives, on the axis: it may be too small to be seen among the others. */
  #life(context: CanvasRenderingContext2D): void {
    const life = this.#model.life.peek();
    if (!life) return;
    const left = Math.max(LEFT_PX, this.x(life.from));
    const right = Math.min(this.width, Math.max(this.x(life.to), this.x(life.from) + 3));
    if (right <= LEFT_PX || left >= this.width) return;
    context.fillStyle = this.#css.accent;
    context.fillRect(left, this.height - BOTTOM_PX, right - left, 4);
  }

  /** Where the state that is looked at lies on the axis. */
  stateX(): number | undefined {
    const { axis, whole, part } = this.#model;
    const state = this.#model.state.peek();
    if (axis === "entry") return state + 0.5;
    const { clicked } = this.#model;
    if (clicked?.state === state) return clicked.x;
    for (const picture of [part, whole]) {
      const at = picture?.state.indexOf(state) ?? -1;
      if (picture && at >= 0) return picture.atNs[at];
    }
    return undefined;
  }

  #drag(context: CanvasRenderingContext2D): void {
    if (!this.box) return;
    const { x0, y0, x1, y1 } = this.box;
    context.fillStyle = this.#css.area;
    context.strokeStyle = this.#css.accent;
    context.lineWidth = 1;
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
    context.strokeRect(x0 + 0.5, y0 + 0.5, x1 - x0, y1 - y0);
  }

  /** The state that a column of pixels shows, and its sums. */
  stateAt(x: number): { state: number; atNs: number; total: number; reserved: number } | undefined {
    const picture = this.#model.pictureAt(x);
    const column = picture && columnAt(picture, x);
    if (!picture || column === undefined) return undefined;
    const shown = picture.shows[column]!;
    return {
      state: picture.state[shown]!,
      atNs: picture.atNs[shown]!,
      total: picture.total[shown]!,
      reserved: picture.reserved[shown]!,
    };
  }
}
