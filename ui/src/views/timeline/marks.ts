// What a frame remembers beside its rectangles: labels, and where the critical path runs. Reused typed arrays.

/** Stretches along rows, each with two numbers. */
export class Stretches {
  n = 0;
  left = new Float32Array(1024);
  right = new Float32Array(1024);
  top = new Float32Array(1024);
  a = new Uint32Array(1024);
  b = new Uint32Array(1024);
  /** Where the scrolled part begins. */
  split = 0;

  clear(): void {
    this.n = 0;
    this.split = 0;
  }

  push(left: number, right: number, top: number, a: number, b: number): void {
    if (this.n === this.left.length) this.#grow();
    this.left[this.n] = left;
    this.right[this.n] = right;
    this.top[this.n] = top;
    this.a[this.n] = a;
    this.b[this.n] = b;
    this.n++;
  }

  #grow(): void {
    const float = (old: Float32Array<ArrayBuffer>) => {
      const grown = new Float32Array(2 * old.length);
      grown.set(old);
      return grown;
    };
    const word = (old: Uint32Array<ArrayBuffer>) => {
      const grown = new Uint32Array(2 * old.length);
      grown.set(old);
      return grown;
    };
    this.left = float(this.left);
    this.right = float(this.right);
    this.top = float(this.top);
    this.a = word(this.a);
    this.b = word(this.b);
  }
}
