// Two timelines that move together: the same stretch of their steps, at one scale, wherever they are moved.

import { describe, expect, it } from "vitest";
import {
  link,
  type Movable,
  medianStep,
  parseWindow,
  stepsOf,
  windowOf,
  windowText,
} from "../../src/views/compare/link.ts";
import { clamp, type Extent, pan, type Span, whole, zoomAt } from "../../src/views/timeline/visible-span.ts";

/** A model as far as the link knows it. */
class Stand implements Movable {
  readonly extent: number;
  bounds: Extent;
  moves = 0;
  #view: Span;
  readonly #listeners = new Set<() => void>();

  constructor(extent: number) {
    this.extent = extent;
    this.bounds = extent;
    this.#view = whole(extent);
  }

  get view(): Span {
    return this.#view;
  }
  set view(span: Span) {
    this.#view = clamp(span, this.bounds);
    this.moves++;
    for (const listener of this.#listeners) listener();
  }

  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const step = (n: number, start_ns: number, end_ns: number) => ({ step: n, name: `#${n}`, start_ns, end_ns });

describe("two timelines", () => {
  const starts: [number, number] = [900_000, 100];
  const relative = ({ view }: Stand, start: number) => [view.from - start, view.to - view.from];

  it("show the same stretch, whichever moves", () => {
    const [a, b] = [new Stand(1_000_000), new Stand(300_000)];
    link(a, b, starts);
    a.view = { from: 900_000, to: 950_000 };
    expect(b.view).toEqual({ from: 100, to: 50_100 });
    b.view = { from: 10_100, to: 20_100 };
    expect(a.view).toEqual({ from: 910_000, to: 920_000 });
  });

  it("keep one scale at the ends of both, and beyond the shorter", () => {
    const [a, b] = [new Stand(1_000_000), new Stand(300_000)];
    link(a, b, starts);
    let state = 11;
    const next = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
    for (let i = 0; i < 500; i++) {
      const one = next() < 0.5 ? a : b;
      one.view =
        next() < 0.5
          ? zoomAt(one.view, next() * 3, next(), one.bounds)
          : pan(one.view, (next() - 0.5) * 2_000_000, one.bounds);
      const [x, y] = [relative(a, starts[0]), relative(b, starts[1])];
      expect(Math.abs(x[0]! - y[0]!)).toBeLessThan(1e-3);
      expect(Math.abs(x[1]! - y[1]!)).toBeLessThan(1e-3);
    }
  });

  it("can be moved to all that either has", () => {
    const [a, b] = [new Stand(1_000_000), new Stand(300_000)];
    link(a, b, starts);
    b.view = whole(b.bounds);
    // A begins 900,000 before its step, B ends 299,900 after its own.
    expect(relative(b, starts[1])[0]).toBeLessThanOrEqual(-900_000);
    expect(b.view.to - starts[1]).toBeGreaterThanOrEqual(299_900);
  });

  it("move once each, and no more when they are parted", () => {
    const [a, b] = [new Stand(1000), new Stand(1000)];
    const part = link(a, b, [0, 0]);
    a.moves = b.moves = 0;
    a.view = { from: 10, to: 100 };
    expect([a.moves, b.moves]).toEqual([1, 1]);
    part();
    a.view = { from: 200, to: 300 };
    expect(b.view.from).toBe(10);
  });
});

describe("which step", () => {
  it("is the one in the middle by length", () => {
    const steps = [step(1, 0, 90), step(2, 90, 100), step(3, 100, 150)];
    expect(medianStep(steps)?.step).toBe(3);
    expect(medianStep(steps.slice(0, 2))?.step).toBe(2);
    expect(medianStep([])).toBeUndefined();
  });

  it("is the whole trace where none was recorded", () => {
    expect(stepsOf({ steps: [], work_ns: [5, 50] })).toMatchObject([{ step: -1, start_ns: 5, end_ns: 50 }]);
    expect(stepsOf({ steps: [step(1, 0, 9)], work_ns: [0, 50] })).toHaveLength(1);
  });

  it("is in sight as a whole, the longer with a little air", () => {
    expect(windowOf(step(1, 500, 600), step(2, 0, 1000))).toEqual({ from: -20, to: 1020 });
  });
});

describe("the window in the URL", () => {
  it("comes back as it was", () => {
    expect(parseWindow(windowText({ from: -20.4, to: 1020.2 }))).toEqual({ from: -20, to: 1020 });
  });

  it("is ignored where it makes no sense", () => {
    for (const text of [undefined, "", "5", "9~3", "a~b", "0~Infinity", "~"])
      expect(parseWindow(text)).toBeUndefined();
  });
});
