// When to ask again: something new was written, the page is looked at, and the last question was not just now. Pure.

/** Questions are at least this far apart. */
export const APART_MS = 2000;

export interface Surroundings {
  now(): number;
  /** Runs something later; returns how to take it back. */
  later(run: () => void, ms: number): () => void;
  ask(): void;
}

/** Turns news into questions: not while hidden, not while the period has ended, one at a time, none twice. */
export class Refresher {
  readonly #around: Surroundings;
  #news = false;
  #visible = true;
  #follows = true;
  #asking = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Something new was written. */
  changed(): void {
    this.#news = true;
    this.#consider();
  }

  show(visible: boolean): void {
    this.#visible = visible;
    this.#consider();
  }

  /** Whether what is shown ends now; news from before a choice are in its answer. */
  follow(follows: boolean): void {
    this.#follows = follows;
    this.#consider();
  }

  /** A question went out, by whatever reason. */
  asked(): void {
    this.#asking = true;
    this.#news = false;
    this.#askedAt = this.#around.now();
  }

  answered(): void {
    this.#asking = false;
    this.#consider();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #consider(): void {
    this.stop();
    if (!this.#news || !this.#visible || !this.#follows || this.#asking) return;
    const wait = this.#askedAt + APART_MS - this.#around.now();
    if (wait > 0) this.#cancel = this.#around.later(() => this.#consider(), wait);
    else {
      this.asked();
      this.#around.ask();
    }
  }
}
