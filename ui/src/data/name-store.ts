// Names by number: fetched in batches when first seen, kept within a bound, hashed to a shade of their color.

import { isAbort } from "./source.ts";

/** Shades of one hue. */
export const SHADE_COUNT = 5;
/** Characters kept, in two generations. */
const KEEP_CHARS = 4 * 1024 * 1024;
/** Numbers above this have no mark: they share the middle shade. */
const MAX_MARKS = 1 << 24;
const MAX_ASKED = 4000;
/** A request should bring about this much. */
const BATCH_CHARS = 256 * 1024;
const RETRY_MS = 1500;

const SHADE_BITS = 0x0f;
const ASKED_BIT = 0x40;
const HIT_BIT = 0x80;

/** The same for the same name in every trace. Numbered names (steps) take turns. */
export function shadeOf(name: string): number {
  const numbered = /#(\d{1,9})$/.exec(name);
  if (numbered) return Number(numbered[1]) % 2 === 0 ? 1 : 3;
  let hash = 0x811c9dc5;
  for (let i = 0; i < Math.min(name.length, 256); i++) {
    hash ^= name.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  hash ^= hash >>> 15;
  return (hash >>> 0) % SHADE_COUNT;
}

export interface NameEvents {
  fetch(ids: number[]): Promise<string[]>;
  changed(): void;
}

export class NameStore {
  readonly #events: NameEvents;
  /** Per name: shade + 1 in the low bits, asked for, found by the search. */
  #marks = new Uint8Array(4096);
  #young = new Map<number, string>();
  #old = new Map<number, string>();
  #youngChars = 0;
  #wanted = new Set<number>();
  #flying = new Set<number>();
  #averageChars = 64;
  #matches: ((name: string) => boolean) | undefined;
  #closed = false;

  constructor(events: NameEvents) {
    this.#events = events;
  }

  /** Names at hand. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The shade of a name; the middle one until the name has come. */
  shade(id: number): number {
    const mark = id < this.#marks.length ? this.#marks[id]! : 0;
    const shade = mark & SHADE_BITS;
    if (shade > 0) return shade - 1;
    if ((mark & ASKED_BIT) === 0) this.#ask(id);
    return SHADE_COUNT >> 1;
  }

  /** The name itself, if it is here; else it is asked for. */
  text(id: number): string | undefined {
    const young = this.#young.get(id);
    if (young !== undefined) return young;
    const old = this.#old.get(id);
    if (old === undefined) this.#ask(id);
    else this.#keep(id, old);
    return old;
  }

  /** Whether the search found this name. */
  isHit(id: number): boolean {
    return id < this.#marks.length && (this.#marks[id]! & HIT_BIT) !== 0;
  }

  /** What is searched for: names known to match, and a test for those that come. */
  search(matches: ((name: string) => boolean) | undefined, ids: Iterable<number> = []): void {
    this.#matches = matches;
    for (let i = 0; i < this.#marks.length; i++) this.#marks[i]! &= ~HIT_BIT;
    for (const id of ids) this.#mark(id, HIT_BIT);
    if (!matches) return;
    for (const names of [this.#young, this.#old])
      for (const [id, name] of names) if (matches(name)) this.#mark(id, HIT_BIT);
  }

  /** Sends what was asked for since the last frame. */
  flush(): void {
    if (this.#closed || this.#flying.size > 0 || this.#wanted.size === 0) return;
    const most = Math.max(16, Math.min(MAX_ASKED, Math.floor(BATCH_CHARS / this.#averageChars)));
    const ids: number[] = [];
    for (const id of this.#wanted) {
      if (ids.length === most) break;
      ids.push(id);
    }
    for (const id of ids) this.#wanted.delete(id);
    void this.#send(ids);
  }

  close(): void {
    this.#closed = true;
  }

  async #send(ids: number[]): Promise<void> {
    this.#flying = new Set(ids);
    try {
      const names = await this.#events.fetch(ids);
      if (this.#closed) return;
      let chars = 0;
      ids.forEach((id, i) => {
        const name = names[i] ?? "";
        chars += name.length;
        this.#keep(id, name);
        this.#mark(id, shadeOf(name) + 1);
        if (this.#matches?.(name)) this.#mark(id, HIT_BIT);
      });
      this.#averageChars = Math.max(16, (this.#averageChars + chars / ids.length) / 2);
      this.#flying = new Set();
      this.#events.changed();
    } catch (error) {
      if (isAbort(error) || this.#closed) return;
      setTimeout(() => {
        for (const id of ids) this.#wanted.add(id);
        this.#flying = new Set();
        if (!this.#closed) this.#events.changed();
      }, RETRY_MS);
    }
  }

  #ask(id: number): void {
    if (this.#wanted.size >= MAX_ASKED || this.#wanted.has(id) || this.#flying.has(id)) return;
    this.#wanted.add(id);
    this.#mark(id, ASKED_BIT);
  }

  #keep(id: number, name: string): void {
    this.#young.set(id, name);
    this.#youngChars += name.length + 32;
    if (this.#youngChars < KEEP_CHARS) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngChars = 0;
  }

  #mark(id: number, bits: number): void {
    if (id >= MAX_MARKS) return;
    if (id >= this.#marks.length) {
      const grown = new Uint8Array(Math.min(MAX_MARKS, Math.max(2 * this.#marks.length, id + 1)));
      grown.set(this.#marks);
      this.#marks = grown;
    }
    this.#marks[id]! |= bits;
  }
}
