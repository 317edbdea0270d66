// What the last frame did, for tests and for the curious: `window.stepscopeStats`.

import type { Tally } from "./row-cells.ts";

export interface FrameStats {
  drawCalls: number;
  quads: number;
  frameMs: number;
  backend: string;
  /** Slices shown by themselves. */
  shown: number;
  /** Slices shown together with others of their bucket. */
  counted: number;
  /** Tiles in the cache. */
  tiles: number;
  /** Rows drawn. */
  rows: number[];
  /** Frames drawn so far. */
  frames: number;
}

declare global {
  interface Window {
    stepscopeStats?: FrameStats;
  }
}

export class Stats {
  readonly tally: Tally = { shown: 0, counted: 0 };
  /** Rows drawn in this frame; reused. */
  readonly rows: number[] = [];
  readonly #published: FrameStats;

  constructor() {
    this.#published = {
      drawCalls: 0,
      quads: 0,
      frameMs: 0,
      backend: "",
      shown: 0,
      counted: 0,
      tiles: 0,
      rows: this.rows,
      frames: 0,
    };
  }

  begin(): void {
    this.tally.shown = 0;
    this.tally.counted = 0;
    this.rows.length = 0;
  }

  row(id: number): void {
    this.rows.push(id);
  }

  frame(ms: number, calls: number, quads: number, backend: string, tiles: number): void {
    const stats = this.#published;
    stats.frameMs = ms;
    stats.drawCalls = calls;
    stats.quads = quads;
    stats.backend = backend;
    stats.shown = this.tally.shown;
    stats.counted = this.tally.counted;
    stats.tiles = tiles;
    stats.frames++;
    window.stepscopeStats = stats;
  }
}
