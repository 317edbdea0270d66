// What the picture of a snapshot's memory shows, and what of it is chosen. The board draws it; gestures and keys change it.

import { signal } from "@preact/signals";
import { isAbort, problemOf, type Source } from "../../../data/source.ts";
import type { MemoryDevice, MemoryWindow, Problem } from "../../../data/types.ts";
import { busy } from "../../../session/busy.ts";
import type { ColorBy } from "./colors.ts";
import { decodePicture, type Picture, type Window } from "./picture.ts";
import { clampWindow, type Extent, isWhole } from "./visible-window.ts";

export type Axis = "entry" | "time";
/** Every allocation, those of one pool, or the segments. */
export type Stacked = { of: "allocations" } | { of: "pool"; pool: string } | { of: "segments" };

/** Pictures are asked for one after the other, this long after a change: a wheel does not ask a hundred times. */
const REST_MS = 40;
/** Reserved memory is in sight at first unless it would make everything else small. */
const RESERVED_IN_SIGHT = 2.5;
const HEADROOM_RATIO = 1.05;

export class Model {
  readonly run: number;
  readonly device: MemoryDevice;
  readonly axis: Axis;
  readonly stacked: Stacked;
  readonly extent: Extent;
  readonly home: Window;
  window: Window;
  /** The whole, and the latest of a part of it. */
  whole: Picture | undefined;
  part: Picture | undefined;
  /** The picture that the legend and the notes are about. */
  readonly shown = signal<Picture | undefined>(undefined);
  readonly problem = signal<Problem | undefined>(undefined);
  /** Whether the window is everything. */
  readonly atHome = signal(true);
  /** The state looked at, and the allocation that was clicked. */
  readonly state = signal(0);
  /** Where on the axis it was clicked. */
  clicked: { state: number; x: number } | undefined;
  readonly chosen = signal<number | undefined>(undefined);
  /** Where the chosen allocation lies on the axis, once that is known. */
  readonly life = signal<{ from: number; to: number } | undefined>(undefined);
  /** The line that the pointer is on in the legend. */
  readonly lit = signal<number | undefined>(undefined);
  readonly colorBy = signal<ColorBy>("line");
  onChange: (() => void) | undefined;
  onWindow: (() => void) | undefined;
  readonly #source: Source;
  #size = { columns: 0, rows: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #flight: AbortController | undefined;
  /** Whether the window is no longer the one that was asked for. */
  #changed = false;
  #closed = false;

  constructor(source: Source, run: number, device: MemoryDevice, axis: Axis, stacked: Stacked) {
    this.#source = source;
    this.run = run;
    this.device = device;
    this.axis = axis;
    this.stacked = stacked;
    const peak = stacked.of === "segments" ? device.peak_reserved_bytes : device.peak_bytes;
    const most = Math.max(peak, device.peak_reserved_bytes, 1);
    this.extent = {
      to: axis === "time" ? Math.max(1, (device.duration_ns ?? 0) + 1) : device.states,
      high: most * HEADROOM_RATIO,
    };
    const high = most > RESERVED_IN_SIGHT * peak ? Math.max(1, peak) * HEADROOM_RATIO : this.extent.high;
    this.home = { from: 0, to: this.extent.to, low: 0, high };
    this.window = this.home;
    this.state.value = device.peak_state;
  }

  get isReport(): boolean {
    return this.#source.isReport;
  }

  resize(columns: number, rows: number): void {
    if (columns === this.#size.columns && rows === this.#size.rows) return;
    this.#size = { columns, rows };
    this.#changed = true;
    this.#schedule();
  }

  show(window: Window): void {
    const next = clampWindow(window, this.extent);
    const now = this.window;
    if (next.from === now.from && next.to === now.to && next.low === now.low && next.high === now.high) return;
    this.window = next;
    this.atHome.value = this.isHome();
    this.onChange?.();
    this.onWindow?.();
    this.#changed = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#flight) return;
    busy(1);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      busy(-1);
      void this.#ask();
    }, REST_MS);
  }

  isHome(): boolean {
    const { window, home } = this;
    return (
      isWhole(window, this.extent) ||
      (window.from === home.from && window.to === home.to && window.low === 0 && window.high === home.high)
    );
  }

  /** The picture at a place: the part that is in sight where it is there, else the whole. */
  pictureAt(x: number): Picture | undefined {
    const part = this.part;
    return part && x >= part.head.from && x < part.head.to ? part : this.whole;
  }

  close(): void {
    if (this.#timer !== undefined) busy(-1);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#closed = true;
    this.#flight?.abort();
  }

  async #ask(): Promise<void> {
    const { columns, rows } = this.#size;
    if (columns < 2 || rows < 2) return;
    this.#changed = false;
    const flight = new AbortController();
    this.#flight = flight;
    const whole = this.isHome();
    const window = this.window;
    busy(1);
    try {
      // A report has one picture, and shows it larger.
      if (!this.isReport || !this.whole) {
        const asked: MemoryWindow = { ...this.#what(), ...window, columns, rows };
        const picture = decodePicture(await this.#source.memoryPicture(this.run, asked, flight.signal));
        if (flight.signal.aborted) return;
        if (whole || this.isReport) this.whole = picture;
        else this.part = picture;
      }
      if (whole) this.part = undefined;
      this.shown.value = this.part ?? this.whole;
      this.problem.value = undefined;
    } catch (error) {
      if (!isAbort(error) && !flight.signal.aborted) this.problem.value = problemOf(error);
    } finally {
      busy(-1);
      this.#flight = undefined;
      if (!this.#closed) this.onChange?.();
      if (this.#changed && !this.#closed) this.#schedule();
    }
  }

  #what(): { device: number; axis: Axis; of?: "segments"; pool?: string } {
    const { stacked, axis } = this;
    const what = { device: this.device.device, axis };
    if (stacked.of === "segments") return { ...what, of: "segments" };
    return stacked.of === "pool" ? { ...what, pool: stacked.pool } : what;
  }
}
