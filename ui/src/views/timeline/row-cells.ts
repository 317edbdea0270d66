// A row's tiles as a strip of cells. Pure: from tiles, a window and names to lists. What is narrower than a pixel is gathered
// into columns of one pixel whose opacity is the time covered, so a picture from afar shows true occupancy.

import type { NameStore } from "../../data/name-store.ts";
import {
  BEYOND,
  BUCKETS_PER_TILE,
  BUSY,
  CATEGORY,
  COUNT,
  END,
  FLAGS,
  FROM_LEFT,
  ID,
  NAME,
  PARTS_PER_BUCKET,
  type Tile,
} from "../../data/tiles.ts";
import type { DrawList } from "../../draw/list.ts";
import { type Palette, sliceCell, slot, wantsDarkText } from "../../draw/palette.ts";
import type { Stretches } from "./marks.ts";
import type { TileCover } from "./tile-cover.ts";
import type { Span } from "./visible-span.ts";

/** The faintest a slice may be: nothing disappears. */
const MIN_OPACITY = 0.32;
/** What the search did not find is this much fainter. */
const NOT_FOUND_OPACITY = 0.22;
/** Narrower rectangles have no label. */
export const LABEL_WIDTH = 26;
/** Wide neighbors are kept apart by a line. */
const APART_WIDTH = 4;

const NO_ID = 0xffffffff;
/** A tile's length in 1/4096 of a bucket. */
const WHOLE = BUCKETS_PER_TILE * PARTS_PER_BUCKET;

/** How many slices a frame shows, each counted once. */
export interface Tally {
  /** Shown by themselves. */
  shown: number;
  /** Shown together with others of their bucket. */
  counted: number;
}

export interface Scene {
  list: DrawList;
  labels: Stretches;
  path: Stretches;
  tally: Tally;
  palette: Palette;
  names: Pick<NameStore, "shade" | "isHit">;
  /** Whether a search dims what it did not find. */
  searching: boolean;
  /** Slices on the critical path, if it is shown. */
  onPath: { has(slice: number): boolean } | undefined;
  view: Span;
  width: number;
}

/** Turns the tiles of rows into strips, one row after the other. Whoever calls it has added the strip. */
export class RowPainter {
  #scene: Scene | undefined;
  #top = 0;
  // The slice being drawn: it may go on in the next tile.
  #open = false;
  #left = 0;
  #right = 0;
  #openId = NO_ID;
  #openName = 0;
  #openCategory = 0;
  #openCovered = 1;
  // The column of one pixel being gathered.
  #column = -1;
  #covered = 0;
  #largest = -1;
  #name = 0;
  #category = 0;
  #id = NO_ID;
  #hit = false;
  /** The last column gathered: what is wider makes room for it. */
  #taken = -1;

  row(scene: Scene, pieces: TileCover, top: number): void {
    this.#scene = scene;
    this.#top = top;
    this.#taken = -1;
    for (let p = 0; p < pieces.n; p++) this.#piece(scene, pieces.tiles[p]!, pieces.from[p]!, pieces.to[p]!);
    this.#closeColumn();
    this.#closeOpen();
    this.#scene = undefined;
  }

  #piece(scene: Scene, tile: Tile, from: number, to: number): void {
    const { view, tally, width } = scene;
    const { words, bytes, n } = tile;
    const perNs = width / (view.to - view.from);
    const unit = 2 ** tile.level / PARTS_PER_BUCKET;
    const begin = (from - tile.from) / unit;
    const stop = (to - tile.from) / unit;
    const seenFrom = Math.max(begin, (view.from - tile.from) / unit);
    const seenTo = Math.min(stop, (view.to - tile.from) / unit);
    const offset = (tile.from - view.from) * perNs;
    const scale = unit * perNs;
    for (let i = tile.firstEndingAfter(seenFrom); i < n; i++) {
      const start = words[i]!;
      if (start > seenTo || (start >= stop && stop < WHOLE)) break;
      const end = words[END * n + i]!;
      const count = words[COUNT * n + i]!;
      // A stretch of a coarser tile counts what starts within it; its neighbors count the rest.
      if (start >= begin) {
        if (count === 1) tally.shown++;
        else tally.counted += count;
      }
      const left = offset + Math.max(start, begin) * scale;
      const right = offset + Math.min(end, stop) * scale;
      const flags = bytes[FLAGS * n + i]!;
      const covered = count > 1 ? bytes[BUSY * n + i]! / 255 : 1;
      if (right - left < 1 && (flags & BEYOND) === 0 && end <= stop && !this.#open)
        this.#gather(tile, i, left < 0 ? 0 : Math.min(left, width - 1), right, covered);
      else this.#wide(tile, i, left, right, covered, (flags & FROM_LEFT) !== 0 || start < begin, end > stop);
    }
  }

  /** What is wider than a pixel, or comes after it: the slice before may go on here. */
  #wide(
    tile: Tile,
    i: number,
    left: number,
    right: number,
    covered: number,
    comesOn: boolean,
    cut: boolean,
  ): void {
    const id = tile.id(i);
    if (comesOn && this.#open && id === this.#openId) {
      this.#right = right;
      return;
    }
    this.#closeOpen();
    if (right - left < 1 && !cut && (tile.flags(i) & BEYOND) === 0) {
      const width = this.#scene?.width ?? 1;
      this.#gather(tile, i, Math.max(0, Math.min(left, width - 1)), right, covered);
      return;
    }
    this.#closeColumn();
    this.#open = true;
    this.#left = left;
    this.#right = right;
    this.#openId = id;
    this.#openName = tile.name(i);
    this.#openCategory = tile.category(i);
    this.#openCovered = covered;
  }

  /** Adds something narrower than a pixel to its column, or to the two it lies across. */
  #gather(tile: Tile, i: number, left: number, right: number, density: number): void {
    const column = left | 0;
    if (column !== this.#column) {
      this.#closeColumn();
      this.#column = column;
    }
    const edge = column + 1;
    const within = Math.min(right, edge) - left;
    this.#add(tile, i, within > 0 ? density * within : 0);
    if (right <= edge || edge >= (this.#scene?.width ?? 0)) return;
    this.#closeColumn();
    this.#column = edge;
    this.#add(tile, i, density * (right - edge));
  }

  #add(tile: Tile, i: number, covered: number): void {
    this.#covered += covered;
    const name = tile.words[NAME * tile.n + i]!;
    const hit = this.#scene!.searching && this.#scene!.names.isHit(name);
    // What the search found is never hidden by what it did not.
    if (hit !== this.#hit ? this.#hit : covered <= this.#largest) return;
    this.#largest = covered;
    this.#hit = hit;
    this.#name = name;
    this.#category = tile.bytes[CATEGORY * tile.n + i]!;
    this.#id = tile.words[ID * tile.n + i]!;
  }

  #closeColumn(): void {
    const column = this.#column;
    if (column < 0) return;
    const scene = this.#scene!;
    const opacity = this.#opacity(scene, this.#name, Math.min(this.#covered, 1));
    const at = slot(this.#category, scene.names.shade(this.#name));
    scene.list.dot(column, sliceCell(scene.palette, at, opacity));
    if (scene.onPath?.has(this.#id)) scene.path.push(column, column + 1, this.#top, this.#id, 0);
    this.#taken = column;
    this.#column = -1;
    this.#covered = 0;
    this.#largest = -1;
    this.#hit = false;
  }

  #closeOpen(): void {
    if (!this.#open) return;
    this.#open = false;
    const scene = this.#scene!;
    const { width, palette } = scene;
    // Whole pixels: edges are sharp, and neighbors neither overlap nor leave a seam.
    let left = Math.max(0, Math.min(width - 1, Math.round(this.#left)));
    let right = Math.min(width, Math.max(left + 1, Math.round(this.#right)));
    if (left <= this.#taken && right > this.#taken + 1) left = this.#taken + 1;
    if (right - left >= APART_WIDTH && this.#right < width) right--;
    const name = this.#openName;
    const opacity = this.#opacity(scene, name, this.#openCovered);
    const at = slot(this.#openCategory, scene.names.shade(name));
    scene.list.fill(left, right, sliceCell(palette, at, opacity));
    if (right - left >= LABEL_WIDTH)
      scene.labels.push(left, right, this.#top, name, wantsDarkText(palette, at, opacity) ? 1 : 0);
    if (scene.onPath?.has(this.#openId)) scene.path.push(left, right, this.#top, this.#openId, 0);
  }

  #opacity(scene: Scene, name: number, covered: number): number {
    const opacity = MIN_OPACITY + (1 - MIN_OPACITY) * covered;
    return scene.searching && !scene.names.isHit(name) ? NOT_FOUND_OPACITY * opacity : opacity;
  }
}
