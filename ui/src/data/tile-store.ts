// Asks for tiles: several per request, visible ones first, and cancels those no longer wanted.

import { isAbort, problemOf } from "./source.ts";
import { TileCache } from "./tile-cache.ts";
import { decodeTiles, Tile, tileKey } from "./tiles.ts";
import type { Problem } from "./types.ts";

const CACHE_BYTES = 64 * 1024 * 1024;
/** The server takes no more in one request. */
const MAX_TILES_PER_REQUEST = 256;
const AT_ONCE = 2;
const FIRST_RETRY_MS = 400;
const LAST_RETRY_MS = 5000;

/** Places of tiles, reused from frame to frame. */
export class Wanted {
  n = 0;
  row = new Uint32Array(256);
  level = new Uint8Array(256);
  index = new Float64Array(256);

  clear(): void {
    this.n = 0;
  }

  add(row: number, level: number, index: number): void {
    if (this.n === this.row.length) this.#grow();
    this.row[this.n] = row;
    this.level[this.n] = level;
    this.index[this.n] = index;
    this.n++;
  }

  key(i: number): string {
    return tileKey(this.row[i]!, this.level[i]!, this.index[i]!);
  }

  #grow(): void {
    const { row, level, index } = this;
    this.row = new Uint32Array(2 * row.length);
    this.level = new Uint8Array(2 * row.length);
    this.index = new Float64Array(2 * row.length);
    this.row.set(row);
    this.level.set(level);
    this.index.set(index);
  }
}

export interface TileEvents {
  fetch(keys: string[], signal: AbortSignal): Promise<ArrayBuffer>;
  /** New tiles are here, or it is time to ask again. */
  changed(): void;
  failed(problem: Problem | undefined): void;
}

interface Request {
  keys: Set<string>;
  control: AbortController;
}

export class TileStore {
  readonly cache = new TileCache(CACHE_BYTES);
  readonly #events: TileEvents;
  readonly #flying = new Set<Request>();
  #retryMs = FIRST_RETRY_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(events: TileEvents) {
    this.#events = events;
  }

  get flying(): number {
    return this.#flying.size;
  }

  /** What this frame misses, and what the next ones may. Call it once a frame. */
  want(visible: Wanted, ahead: Wanted): void {
    if (this.#closed || (visible.n === 0 && ahead.n === 0 && this.#flying.size === 0)) return;
    const keys: string[] = [];
    for (let i = 0; i < visible.n; i++) keys.push(visible.key(i));
    const urgent = keys.length;
    for (let i = 0; i < ahead.n; i++) keys.push(ahead.key(i));
    this.#giveUp(new Set(keys));
    if (this.#retry !== undefined) return;
    const missing = keys.filter((key) => !this.#isFlying(key));
    // Looking ahead never delays what is in sight.
    if (urgent === 0 && this.#flying.size > 0) return;
    for (let at = 0; at < missing.length && this.#flying.size < AT_ONCE; at += MAX_TILES_PER_REQUEST)
      void this.#send(missing.slice(at, at + MAX_TILES_PER_REQUEST));
  }

  /** One tile, now or when it has come. */
  async load(row: number, level: number, index: number, signal: AbortSignal): Promise<Tile> {
    const known = this.cache.get(row, level, index);
    if (known) return known;
    this.#take(await this.#events.fetch([tileKey(row, level, index)], signal), [tileKey(row, level, index)]);
    return this.cache.get(row, level, index) ?? new Tile(row, level, index, 0, new ArrayBuffer(0));
  }

  /** The server is back: ask at once. */
  retryNow(): void {
    if (this.#retry === undefined) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    this.#events.changed();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    for (const request of this.#flying) request.control.abort();
  }

  #isFlying(key: string): boolean {
    for (const request of this.#flying) if (request.keys.has(key)) return true;
    return false;
  }

  #giveUp(wanted: Set<string>): void {
    for (const request of this.#flying) {
      let useful = false;
      for (const key of request.keys) if (wanted.has(key)) useful = true;
      if (useful) continue;
      this.#flying.delete(request);
      request.control.abort();
    }
  }

  async #send(keys: string[]): Promise<void> {
    const request: Request = { keys: new Set(keys), control: new AbortController() };
    this.#flying.add(request);
    try {
      const buffer = await this.#events.fetch(keys, request.control.signal);
      if (this.#closed) return;
      this.#take(buffer, keys);
      this.#retryMs = FIRST_RETRY_MS;
      this.#events.failed(undefined);
    } catch (error) {
      if (isAbort(error) || this.#closed) return;
      this.#events.failed(problemOf(error));
      this.#retryLater();
    } finally {
      this.#flying.delete(request);
      if (!this.#closed) this.#events.changed();
    }
  }

  #take(buffer: ArrayBuffer, keys: string[]): void {
    const missing = new Set(keys);
    for (const tile of decodeTiles(buffer)) {
      missing.delete(tileKey(tile.row, tile.level, tile.index));
      this.cache.put(tile);
    }
    // A tile that the server does not send would be asked for for ever.
    for (const key of missing) {
      const [row = 0, level = 0, index = 0] = key.split(".").map(Number);
      this.cache.put(new Tile(row, level, index, 0, buffer));
    }
  }

  #retryLater(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#events.changed();
    }, this.#retryMs);
    this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
  }
}
