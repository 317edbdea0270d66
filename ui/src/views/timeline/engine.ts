// Draws the timeline, outside of Preact: on demand, at most once a frame, everything from typed arrays that are reused.

import { Wanted } from "../../data/tile-store.ts";
import { levelFor } from "../../data/tiles.ts";
import type { Ref } from "../../data/types.ts";
import { AREA, DrawList, FLAT } from "../../draw/list.ts";
import { makePainter } from "../../draw/make-painter.ts";
import type { Painter } from "../../draw/painter.ts";
import { type Palette, pagePalette } from "../../draw/palette.ts";
import { busy } from "../../session/busy.ts";
import { counterCells, counterColor } from "./counter-cells.ts";
import { pathCells } from "./critical-path.ts";
import { gridLines } from "./grid.ts";
import { LANE_PAD, type Lane, ROW_GAP, ROW_HEIGHT, rowTop } from "./lane-layout.ts";
import { Stretches } from "./marks.ts";
import type { Model } from "./model.ts";
import type { Motion } from "./motion.ts";
import { Overlay } from "./overlay.ts";
import { prefetch } from "./prefetch.ts";
import { RowPainter, type Scene } from "./row-cells.ts";
import { RULER_PX, Screen } from "./screen.ts";
import { Stats } from "./stats.ts";
import { cover, TileCover } from "./tile-cover.ts";

/** Room above the curve of a counter. */
const COUNTER_PAD = 4;

export class Engine {
  readonly screen = new Screen();
  readonly stats = new Stats();
  /** Hits near the window, to be outlined. */
  found: readonly Ref[] = [];
  /** Called when the size has changed. */
  onResize: (() => void) | undefined;
  /** Called after each frame. */
  onFrame: (() => void) | undefined;
  readonly #model: Model;
  readonly #motion: Motion;
  readonly #host: HTMLElement;
  readonly #overlay = new Overlay();
  readonly #resize: ResizeObserver;
  readonly #cover = new TileCover();
  readonly #missing = new Wanted();
  readonly #ahead = new Wanted();
  readonly #rows = new RowPainter();
  readonly #scene: Scene;
  #painter: Painter;
  #palette: Palette = pagePalette();
  #counterColor = 0;
  #asked: number | undefined;
  #closed = false;

  constructor(host: HTMLElement, model: Model, motion: Motion, gpu: boolean) {
    this.#host = host;
    this.#model = model;
    this.#motion = motion;
    this.#painter = makePainter(gpu, () => this.#lost());
    host.prepend(this.#painter.canvas, this.#overlay.canvas);
    this.#scene = {
      list: new DrawList(),
      labels: new Stretches(),
      path: new Stretches(),
      tally: this.stats.tally,
      palette: this.#palette,
      names: model.names,
      searching: false,
      onPath: undefined,
      view: model.view,
      width: 1,
    };
    this.#resize = new ResizeObserver(() => this.#measure());
    this.#resize.observe(host);
    this.#measure();
    this.retheme();
  }

  /** The theme changed: colors are read again. */
  retheme(): void {
    this.#palette = pagePalette();
    this.#scene.palette = this.#palette;
    this.#counterColor = counterColor(this.#palette);
    this.invalidate();
  }

  /** Something changed: draw with the next frame. */
  invalidate(): void {
    if (this.#asked !== undefined || this.#closed) return;
    busy(1);
    this.#asked = requestAnimationFrame((now) => {
      this.#asked = undefined;
      busy(-1);
      this.#frame(now);
    });
  }

  close(): void {
    this.#closed = true;
    if (this.#asked !== undefined) {
      cancelAnimationFrame(this.#asked);
      busy(-1);
    }
    this.#resize.disconnect();
    this.#painter.close();
    this.#painter.canvas.remove();
    this.#overlay.canvas.remove();
  }

  /** Tiles of a row as they are drawn now; valid until the next call. */
  piecesOf(row: number, from: number, to: number): TileCover {
    const range = this.#model.layout.rows[row];
    this.#cover.clear();
    if (!range) return this.#cover;
    const level = levelFor(this.screen.nsPerPixel, this.#model.top);
    const missing = new Wanted();
    cover(this.#cover, this.#model.tiles.cache, range, level, this.#model.top, from, to, missing);
    return this.#cover;
  }

  #lost(): void {
    if (this.#closed) return;
    const old = this.#painter;
    this.#painter = makePainter(false, () => {});
    old.canvas.replaceWith(this.#painter.canvas);
    this.invalidate();
  }

  #measure(): void {
    const { clientWidth, clientHeight } = this.#host;
    this.screen.width = Math.max(1, clientWidth);
    this.screen.height = Math.max(1, clientHeight);
    this.onResize?.();
    this.invalidate();
  }

  #frame(now: number): void {
    const model = this.#model;
    const { screen } = this;
    this.#motion.step(now);
    const began = performance.now();
    screen.ratio = globalThis.devicePixelRatio || 1;
    screen.view = model.view;
    screen.laneLayout = model.laneLayout.value;
    screen.scroll = model.scroll;
    screen.pinScroll = model.pinScroll;
    screen.settle();
    model.scroll = screen.scroll;
    model.pinScroll = screen.pinScroll;
    this.#layout();
    const { list, labels, path } = this.#scene;
    const calls = this.#painter.paint(list, screen.width, screen.height, screen.ratio, this.#palette.ground);
    this.#overlay.draw({ screen, model, palette: this.#palette, labels, path, found: this.found });
    this.stats.frame(performance.now() - began, calls, list.quads, this.#painter.kind, model.tiles.cache.size);
    model.tiles.want(this.#missing, this.#ahead);
    model.names.flush();
    this.onFrame?.();
    if (this.#motion.moving) this.invalidate();
  }

  #layout(): void {
    const { screen } = this;
    const scene = this.#scene;
    scene.list.clear(screen.width, screen.ratio);
    scene.labels.clear();
    scene.path.clear();
    this.stats.begin();
    this.#missing.clear();
    this.#ahead.clear();
    scene.view = screen.view;
    scene.width = screen.width;
    scene.searching = this.#model.hits.value !== undefined;
    scene.onPath = this.#model.showPath.value ? this.#model.path.value?.onPath : undefined;
    this.#grid(RULER_PX, screen.split);
    this.#lanes(screen.laneLayout.pinned, RULER_PX, screen.split);
    scene.labels.split = scene.labels.n;
    scene.path.split = scene.path.n;
    this.#grid(screen.split, screen.height);
    this.#lanes(screen.laneLayout.lanes, screen.split, screen.height);
    if (this.#missing.n === 0) prefetch(this.#model, screen, this.stats.rows, this.#ahead);
  }

  #grid(top: number, bottom: number): void {
    const { list } = this.#scene;
    if (bottom <= top) return;
    const { layout, origin } = this.#model;
    gridLines(list, this.screen, layout.steps, this.#palette, top, bottom, origin);
  }

  #lanes(lanes: readonly Lane[], from: number, to: number): void {
    for (const lane of lanes) {
      const top = this.screen.laneTop(lane);
      if (top >= to) break;
      if (top + lane.height <= from) continue;
      if (lane.kind === "rows") this.#laneRows(lane, top, from, to);
      else if (lane.kind === "counter") this.#counter(lane, top, from, to);
      else if (lane.kind === "path") this.#path(top, from, to);
    }
  }

  #laneRows(lane: Lane, top: number, from: number, to: number): void {
    const { screen } = this;
    const model = this.#model;
    const level = levelFor(screen.nsPerPixel, model.top);
    const pitch = ROW_HEIGHT + ROW_GAP;
    const first = Math.max(0, Math.floor((from - top - LANE_PAD) / pitch));
    const last = Math.min(lane.rows.length, Math.ceil((to - top - LANE_PAD) / pitch));
    const { view } = screen;
    for (let at = first; at < last; at++) {
      const range = model.layout.rows[lane.rows[at]!];
      if (!range) continue;
      cover(this.#cover, model.tiles.cache, range, level, model.top, view.from, view.to, this.#missing);
      const y = Math.round(top) + rowTop(at);
      this.#scene.list.strip(FLAT, y, ROW_HEIGHT, from, to);
      this.#rows.row(this.#scene, this.#cover, y);
      this.stats.row(range.id);
    }
  }

  #counter(lane: Lane, top: number, from: number, to: number): void {
    const counter = this.#model.counters.value.find((one) => one.id === lane.counter);
    if (!counter) return;
    const { list } = this.#scene;
    const height = lane.height - 2 * COUNTER_PAD;
    list.strip(AREA, Math.round(top) + COUNTER_PAD, height, from, to, this.#counterColor);
    counterCells(list, counter, this.screen.view, this.screen.width);
  }

  #path(top: number, from: number, to: number): void {
    const path = this.#model.path.value;
    if (!path) return;
    const { list } = this.#scene;
    list.strip(FLAT, Math.round(top) + LANE_PAD, ROW_HEIGHT, from, to);
    pathCells(list, path, this.screen.view, this.screen.width, this.#palette);
  }
}
