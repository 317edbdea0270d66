// Tiles: what one row of the timeline holds in 512 buckets of 2^level ns. Here is how they are named, placed and read.

/** Buckets in a tile. */
export const BUCKETS_PER_TILE = 512;
/** A bucket is cut this finely on the wire. */
export const PARTS_PER_BUCKET = 4096;
/** Levels that a nanosecond count below 2^53 can need. */
export const MAX_LEVEL = 44;

/** Flags of an item. */
export const FROM_LEFT = 1;
export const BEYOND = 2;
export const INSTANT = 4;

// Columns of `Tile.words`, each `n` long.
export const START = 0;
export const END = 1;
export const ID = 2;
export const NAME = 3;
export const COUNT = 4;
const WORD_COLUMNS = 5;
// Columns of `Tile.bytes`.
export const BUSY = 0;
export const CATEGORY = 1;
export const FLAGS = 2;
const BYTE_COLUMNS = 3;

/** What a response begins with, how long that is, and what each tile begins with. */
export const MAGIC = 0x53544c31;
export const HEAD_BYTES = 8;
export const TILE_HEAD_BYTES = 24;
/** Instants are numbered from here on, slices below. */
export const FIRST_INSTANT = 0x80000000;
/** What a tile costs beside its columns: two views, a buffer, an entry in the cache. */
const TILE_OVERHEAD_BYTES = 480;

/** One tile. Its columns lie in a buffer of their own, so that forgetting the tile frees them. */
export class Tile {
  readonly row: number;
  readonly level: number;
  readonly index: number;
  readonly n: number;
  /** Columns one after the other; whoever is in a hurry reads them directly. */
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** Neighbors in the order of use; kept by the cache. */
  newer: Tile | undefined;
  older: Tile | undefined;

  constructor(row: number, level: number, index: number, n: number, columns: ArrayBuffer, at = 0) {
    this.row = row;
    this.level = level;
    this.index = index;
    this.n = n;
    const from = n === 0 ? 0 : at;
    this.words = n === 0 ? NO_WORDS : new Uint32Array(columns, from, WORD_COLUMNS * n);
    this.bytes = n === 0 ? NO_BYTES : new Uint8Array(columns, from + 4 * WORD_COLUMNS * n, BYTE_COLUMNS * n);
  }

  /** When it begins. */
  get from(): number {
    return this.index * tileSpan(this.level);
  }
  get cost(): number {
    return TILE_OVERHEAD_BYTES + 4 * this.words.length + this.bytes.length;
  }
  /** Start in 1/4096 of a bucket from the tile's beginning. */
  start(i: number): number {
    return this.words[START * this.n + i]!;
  }
  end(i: number): number {
    return this.words[END * this.n + i]!;
  }
  id(i: number): number {
    return this.words[ID * this.n + i]!;
  }
  name(i: number): number {
    return this.words[NAME * this.n + i]!;
  }
  /** Slices that start in this bucket; 0 where one only continues. */
  count(i: number): number {
    return this.words[COUNT * this.n + i]!;
  }
  /** 0 to 255: covered share of start to end. */
  busy(i: number): number {
    return this.bytes[BUSY * this.n + i]!;
  }
  category(i: number): number {
    return this.bytes[CATEGORY * this.n + i]!;
  }
  flags(i: number): number {
    return this.bytes[FLAGS * this.n + i]!;
  }

  /** The first item that ends after `fine` (1/4096 of a bucket), or is exactly there. */
  firstEndingAfter(fine: number): number {
    let low = 0;
    let high = this.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      const end = this.end(middle);
      if (end < fine || (end === fine && this.start(middle) < fine)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The time at which an item starts. */
  startNs(i: number): number {
    return this.from + (this.start(i) / PARTS_PER_BUCKET) * 2 ** this.level;
  }
  endNs(i: number): number {
    return this.from + (this.end(i) / PARTS_PER_BUCKET) * 2 ** this.level;
  }
}

const NO_WORDS = new Uint32Array(0);
const NO_BYTES = new Uint8Array(0);

/** How long a tile is. */
export function tileSpan(level: number): number {
  return BUCKETS_PER_TILE * 2 ** level;
}

/** The level whose buckets are half a pixel to a pixel wide. */
export function levelFor(nsPerPixel: number, top: number): number {
  const level = Math.floor(Math.log2(Math.max(nsPerPixel, 1)));
  return Math.max(0, Math.min(level, top));
}

/** The lowest level at which one tile holds the whole trace. */
export function topLevel(extent: number): number {
  let level = 0;
  while (level < MAX_LEVEL && tileSpan(level) <= extent) level++;
  return level;
}

/** How many bytes the columns of a tile take: the next one starts at a multiple of eight. */
export function tileBytes(n: number): number {
  return Math.ceil(((4 * WORD_COLUMNS + BYTE_COLUMNS) * n) / 8) * 8;
}

export function tileKey(row: number, level: number, index: number): string {
  return `${row}.${level}.${index}`;
}

/** Reads a response. Throws with a sentence if it is not what it should be. */
export function decodeTiles(buffer: ArrayBuffer): Tile[] {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEAD_BYTES || view.getUint32(0, true) !== MAGIC)
    throw new Error("These are not tiles.");
  const tiles: Tile[] = [];
  const total = view.getUint32(4, true);
  let at = HEAD_BYTES;
  for (let i = 0; i < total; i++) {
    if (at + TILE_HEAD_BYTES > buffer.byteLength) throw new Error("The tiles end too early.");
    const row = view.getUint32(at, true);
    const level = view.getUint32(at + 4, true);
    const index = view.getFloat64(at + 8, true);
    const n = view.getUint32(at + 16, true);
    at += TILE_HEAD_BYTES;
    const size = (4 * WORD_COLUMNS + BYTE_COLUMNS) * n;
    if (at + size > buffer.byteLength) throw new Error("The tiles end too early.");
    tiles.push(new Tile(row, level, index, n, n === 0 ? buffer : buffer.slice(at, at + size)));
    at += tileBytes(n);
  }
  return tiles;
}
