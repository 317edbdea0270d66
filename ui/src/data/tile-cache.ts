// Tiles at hand, the longest unused forgotten first.

import type { Tile } from "./tiles.ts";

/** A row has fewer levels than this. */
const MAX_LEVELS = 64;

export class TileCache {
  readonly #limit: number;
  readonly #lines = new Map<number, Map<number, Tile>>();
  #newest: Tile | undefined;
  #oldest: Tile | undefined;
  #bytes = 0;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#bytes;
  }
  get size(): number {
    return this.#size;
  }

  has(row: number, level: number, index: number): boolean {
    return this.#lines.get(row * MAX_LEVELS + level)?.has(index) ?? false;
  }

  /** The tile, which counts as used now. */
  get(row: number, level: number, index: number): Tile | undefined {
    const tile = this.#lines.get(row * MAX_LEVELS + level)?.get(index);
    if (tile && tile !== this.#newest) {
      this.#unlink(tile);
      this.#link(tile);
    }
    return tile;
  }

  put(tile: Tile): void {
    const key = tile.row * MAX_LEVELS + tile.level;
    let line = this.#lines.get(key);
    if (!line) {
      line = new Map();
      this.#lines.set(key, line);
    }
    const old = line.get(tile.index);
    if (old) this.#drop(old);
    line.set(tile.index, tile);
    if (!this.#lines.has(key)) this.#lines.set(key, line);
    this.#link(tile);
    this.#bytes += tile.cost;
    this.#size++;
    while (this.#bytes > this.#limit && this.#oldest && this.#oldest !== tile) this.#drop(this.#oldest);
  }

  #drop(tile: Tile): void {
    const key = tile.row * MAX_LEVELS + tile.level;
    const line = this.#lines.get(key);
    line?.delete(tile.index);
    if (line?.size === 0) this.#lines.delete(key);
    this.#unlink(tile);
    this.#bytes -= tile.cost;
    this.#size--;
  }

  #link(tile: Tile): void {
    tile.older = this.#newest;
    tile.newer = undefined;
    if (this.#newest) this.#newest.newer = tile;
    this.#newest = tile;
    this.#oldest ??= tile;
  }

  #unlink(tile: Tile): void {
    if (tile.newer) tile.newer.older = tile.older;
    else this.#newest = tile.older;
    if (tile.older) tile.older.newer = tile.newer;
    else this.#oldest = tile.newer;
    tile.newer = undefined;
    tile.older = undefined;
  }
}
