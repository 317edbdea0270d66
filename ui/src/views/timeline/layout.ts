// A row's tiles as a strip of cells. Pure: from tiles, a window and names to lists. What is narrower than a pixel is gathered
// into columns of one pixel whose opacity is the time covered, so a picture from afar shows true occupancy.

import type { NameStore } from "../../data/namestore.ts";
import { BEYOND, BUCKETS, FINE, FROM_LEFT, type Tile } from "../../data/tiles.ts";
import { type DrawList, flatCell } from "../../draw/list.ts";
import { type Palette, slot, wantsDarkText } from "../../draw/palette.ts";
import type { Cover } from "./cover.ts";
import type { Stretches } from "./marks.ts";
import type { Span } from "./window.ts";

/** The faintest a slice may be: nothing disappears. */
const FAINTEST = 0.32;
/** What the search did not find is this much fainter. */
const DIM = 0.22;
/** Narrower rectangles have no label. */
const LABEL_WIDTH = 26;
/** Wide neighbours are kept apart by a line. */
const APART_WIDTH = 4;

const WAIT = 4;
const COMMUNICATION = 9;
const NONE = 0xffffffff;
/** A tile's length in 1/4096 of a bucket. */
const WHOLE = BUCKETS * FINE;

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
  #openId = NONE;
  #openName = 0;
  #openCategory = 0;
  #openCovered = 1;
  // The column of one pixel being gathered.
  #column = -1;
  #covered = 0;
  #largest = -1;
  #name = 0;
  #category = 0;
  #id = NONE;
  #hit = false;
  /** The last column gathered: what is wider makes room for it. */
  #taken = -1;

  row(scene: Scene, pieces: Cover, top: number): void {
    this.#scene = scene;
    this.#top = top;
    this.#taken = -1;
    for (let p = 0; p < pieces.n; p++) this.#piece(scene, pieces.tiles[p]!, pieces.from[p]!, pieces.to[p]!);
    this.#closeColumn();
    this.#closeOpen();
    this.#scene = undefined;
  }

  #piece(scene: Scene, tile: Tile, from: number, to: number): void {
    const { view, tally } = scene;
    const perNs = scene.width / (view.to - view.from);
    const unit = 2 ** tile.level / FINE;
    const begin = (from - tile.from) / unit;
    const stop = (to - tile.from) / unit;
    const seenFrom = Math.max(begin, (view.from - tile.from) / unit);
    const seenTo = Math.min(stop, (view.to - tile.from) / unit);
    const offset = (tile.from - view.from) * perNs;
    const scale = unit * perNs;
    for (let i = tile.firstEndingAfter(seenFrom); i < tile.n; i++) {
      const start = tile.start(i);
      if (start > seenTo || (start >= stop && stop < WHOLE)) break;
      const end = tile.end(i);
      const count = tile.count(i);
      // A stretch of a coarser tile counts what starts within it; its neighbours count the rest.
      if (start >= begin) {
        if (count === 1) tally.shown++;
        else tally.counted += count;
      }
      const left = offset + Math.max(start, begin) * scale;
      const right = offset + Math.min(end, stop) * scale;
      const flags = tile.flags(i);
      if (this.#open && tile.id(i) === this.#openId && ((flags & FROM_LEFT) !== 0 || start < begin))
        this.#right = right;
      else if (right - left < 1 && (flags & BEYOND) === 0 && end <= stop)
        this.#gather(tile, i, Math.max(0, Math.min(left, scene.width - 1)), right, count);
      else this.#begin(tile, i, left, right, count);
    }
  }

  #begin(tile: Tile, i: number, left: number, right: number, count: number): void {
    this.#closeColumn();
    this.#closeOpen();
    this.#open = true;
    this.#left = left;
    this.#right = right;
    this.#openId = tile.id(i);
    this.#openName = tile.name(i);
    this.#openCategory = tile.category(i);
    this.#openCovered = count > 1 ? tile.busy(i) / 255 : 1;
  }

  /** Adds something narrower than a pixel to its column, or to the two it lies across. */
  #gather(tile: Tile, i: number, left: number, right: number, count: number): void {
    this.#closeOpen();
    const column = Math.floor(left);
    this.#turnTo(column);
    const density = count > 1 ? tile.busy(i) / 255 : 1;
    const edge = column + 1;
    this.#add(tile, i, density * Math.max(0, Math.min(right, edge) - left));
    if (right <= edge || edge >= (this.#scene?.width ?? 0)) return;
    this.#turnTo(edge);
    this.#add(tile, i, density * (right - edge));
  }

  #turnTo(column: number): void {
    if (column === this.#column) return;
    this.#closeColumn();
    this.#column = column;
  }

  #add(tile: Tile, i: number, covered: number): void {
    this.#covered += covered;
    const name = tile.name(i);
    const hit = this.#scene?.searching === true && this.#scene.names.isHit(name);
    // What the search found is never hidden by what it did not.
    if (this.#hit && !hit) return;
    if (covered <= this.#largest && hit === this.#hit) return;
    this.#largest = covered;
    this.#hit = hit;
    this.#name = name;
    this.#category = tile.category(i);
    this.#id = tile.id(i);
  }

  #closeColumn(): void {
    if (this.#column < 0) return;
    this.#emit(
      this.#column,
      this.#column + 1,
      this.#name,
      this.#category,
      this.#id,
      Math.min(1, this.#covered),
    );
    this.#taken = this.#column;
    this.#column = -1;
    this.#covered = 0;
    this.#largest = -1;
    this.#hit = false;
  }

  #closeOpen(): void {
    if (!this.#open || !this.#scene) return;
    this.#open = false;
    const { width } = this.#scene;
    // Whole pixels: edges are sharp, and neighbours neither overlap nor leave a seam.
    let left = Math.max(0, Math.min(width - 1, Math.round(this.#left)));
    let right = Math.min(width, Math.max(left + 1, Math.round(this.#right)));
    if (left <= this.#taken && right > this.#taken + 1) left = this.#taken + 1;
    if (right - left >= APART_WIDTH && this.#right < width) right--;
    this.#emit(left, right, this.#openName, this.#openCategory, this.#openId, this.#openCovered);
  }

  #emit(left: number, right: number, name: number, category: number, id: number, covered: number): void {
    const scene = this.#scene;
    if (!scene) return;
    const { names, palette } = scene;
    let alpha = FAINTEST + (1 - FAINTEST) * covered;
    if (scene.searching && !names.isHit(name)) alpha *= DIM;
    const opacity = Math.round(255 * alpha);
    const at = slot(category, names.shade(name));
    const striped = category === WAIT || category === COMMUNICATION;
    scene.list.fill(left, right, flatCell(palette.slices[at]!, opacity, striped));
    if (right - left >= LABEL_WIDTH)
      scene.labels.push(left, right, this.#top, name, wantsDarkText(palette, at, opacity) ? 1 : 0);
    if (scene.onPath?.has(id)) scene.path.push(left, right, this.#top, id, 0);
  }
}
