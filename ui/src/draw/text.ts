// How much of a text fits: from widths of characters measured once, not from the canvas for each label in each frame.

const ELLIPSIS = "…";
/** Characters whose width is remembered beside ASCII's. */
const MAX_OTHERS = 4096;
/** Labels whose cut is remembered. */
const MAX_CUTS = 4096;
/** No label shows more. */
const MAX_LABEL_CHARS = 400;

export class Fitter {
  readonly #measure: (text: string) => number;
  readonly #ascii = new Float32Array(128);
  readonly #others = new Map<number, number>();
  /** Text by text and number of characters that fit, so that no frame builds strings it built before. */
  readonly #cuts = new Map<string, { chars: number; cut: string }>();
  readonly #dots: number;

  constructor(measure: (text: string) => number) {
    this.#measure = measure;
    for (let code = 32; code < 127; code++) this.#ascii[code] = measure(String.fromCharCode(code));
    this.#dots = measure(ELLIPSIS);
  }

  #width(code: number): number {
    if (code < 128) return this.#ascii[code]!;
    const known = this.#others.get(code);
    if (known !== undefined) return known;
    if (this.#others.size > MAX_OTHERS) this.#others.clear();
    const width = this.#measure(String.fromCodePoint(code));
    this.#others.set(code, width);
    return width;
  }

  /** The text, or as much of it as fits into so many pixels; empty if not even two characters do. */
  fit(text: string, room: number): string {
    let width = 0;
    let fits = 0;
    const length = Math.min(text.length, MAX_LABEL_CHARS);
    for (let i = 0; i < length; ) {
      const code = text.codePointAt(i) ?? 0;
      const step = code > 0xffff ? 2 : 1;
      width += this.#width(code);
      if (width + this.#dots <= room) fits = i + step;
      if (width > room) return fits < 2 ? "" : this.#cut(text, fits);
      i += step;
    }
    return length === text.length ? text : this.#cut(text, fits);
  }

  #cut(text: string, chars: number): string {
    const known = this.#cuts.get(text);
    if (known?.chars === chars) return known.cut;
    const cut = text.slice(0, chars) + ELLIPSIS;
    if (this.#cuts.size > MAX_CUTS) this.#cuts.clear();
    this.#cuts.set(text, { chars, cut });
    return cut;
  }
}
