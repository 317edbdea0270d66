// What to paint: strips as wide as the screen, each a single line of cells, one a pixel, stretched to its height. A row of
// slices looks the same all the way down, so a line is all it takes: painting costs the same for ten slices and for ten
// million. Made without a canvas, so it can be tested; reused from frame to frame.

/** A cell is a color. */
export const FLAT = 0;
/** A cell is two heights: filled up to the lower, lighter up to the higher. */
export const AREA = 1;
/** No cells: one color from `left` to `right`. */
export const SOLID = 2;

/** In a flat cell's opacity byte: diagonal stripes, so that communication and waits can be recognized without color. */
export const STRIPES = 0x01000000;

/** A flat cell: color 0x00BBGGRR weighted with its opacity, as blending wants it; opacity from 0 to 255. */
export function flatCell(color: number, opacity: number, striped: boolean): number {
  const part = (shift: number) => Math.round((((color >> shift) & 255) * opacity) / 255) << shift;
  const weighted = opacity === 255 ? color : part(0) | part(8) | part(16);
  return (weighted | ((opacity & 0xfe) << 24) | (striped ? STRIPES : 0)) >>> 0;
}

/** An area's cell: shares of the height. */
export function areaCell(low: number, high: number): number {
  const part = (share: number) => Math.round(Math.max(0, Math.min(1, share)) * 0xffff);
  return ((part(high) << 16) | part(low)) >>> 0;
}

/** Places of a strip, in CSS pixels; painted between `from` and `to` only. */
export interface Strip {
  kind: number;
  top: number;
  height: number;
  from: number;
  to: number;
  /** Of a solid one. */
  left: number;
  right: number;
  /** Of an area or a solid one: 0xAABBGGRR. */
  color: number;
  /** Whether any cell is striped. */
  striped: boolean;
}

export class DrawList {
  /** Strips in use. */
  n = 0;
  /** Cells in a strip: pixels of the screen, not of the page. */
  width = 1;
  ratio = 1;
  cells = new Uint32Array(1 << 16);
  readonly strips: Strip[] = [];
  /** Rectangles filled in this frame. */
  quads = 0;

  /** Begins a frame; sizes in CSS pixels. */
  clear(width: number, ratio: number): void {
    this.n = 0;
    this.quads = 0;
    this.ratio = ratio;
    this.width = Math.max(1, Math.round(width * ratio));
  }

  /** Adds an empty strip; what is filled next goes there. */
  strip(kind: number, top: number, height: number, from: number, to: number, color = 0): void {
    const end = (this.n + 1) * this.width;
    if (end > this.cells.length) {
      const grown = new Uint32Array(Math.max(end, 2 * this.cells.length));
      grown.set(this.cells);
      this.cells = grown;
    }
    this.cells.fill(0, this.n * this.width, end);
    this.#place(kind, top, height, from, to, 0, 0, color);
  }

  /** Adds a rectangle of one color, without cells. */
  solid(left: number, right: number, top: number, bottom: number, color: number): void {
    this.#place(SOLID, top, bottom - top, top, bottom, left, right, color);
    this.quads++;
  }

  #place(
    kind: number,
    top: number,
    height: number,
    from: number,
    to: number,
    left: number,
    right: number,
    color: number,
  ): void {
    let strip = this.strips[this.n];
    if (!strip) {
      strip = { kind, top, height, from, to, left, right, color, striped: false };
      this.strips.push(strip);
    }
    strip.kind = kind;
    strip.top = top;
    strip.height = height;
    strip.from = from;
    strip.to = to;
    strip.left = left;
    strip.right = right;
    strip.color = color;
    strip.striped = false;
    this.n++;
  }

  /** Fills the newest strip between two places in CSS pixels: at least one cell. */
  fill(left: number, right: number, cell: number): void {
    const base = (this.n - 1) * this.width;
    const first = Math.max(0, Math.min(this.width - 1, Math.round(left * this.ratio)));
    const last = Math.min(this.width, Math.max(first + 1, Math.round(right * this.ratio)));
    const strip = this.strips[this.n - 1]!;
    if (strip.kind === FLAT && (cell & STRIPES) !== 0) strip.striped = true;
    this.quads++;
    for (let at = base + first; at < base + last; at++) this.cells[at] = cell;
  }

  /** Fills one CSS pixel of the newest strip: most of what is drawn from afar. */
  dot(x: number, cell: number): void {
    if (this.ratio !== 1) {
      this.fill(x, x + 1, cell);
      return;
    }
    if ((cell & STRIPES) !== 0) this.strips[this.n - 1]!.striped = true;
    this.quads++;
    this.cells[(this.n - 1) * this.width + x] = cell;
  }
}
