// What is shown under the pointer: a line, a frame, a few words. Elements moved directly, nothing is rendered anew.

import { CATEGORIES } from "../../data/wire.ts";
import { timeLabel } from "../../parts/charts/ticks.ts";
import { count, time } from "../../parts/format.ts";
import { counterAt } from "./counter-cells.ts";
import { counterText } from "./counter-text.ts";
import { pieceAt } from "./critical-path.ts";
import type { Engine } from "./engine.ts";
import { type Hit, itemAt } from "./hit.ts";
import { ROW_HEIGHT } from "./lane-layout.ts";
import type { Model } from "./model.ts";
import type { Spot } from "./screen.ts";

const REACH_PX = 4;
const TIP_GAP = 14;
const TIP_WIDTH = 360;
const LONGEST_NAME = 300;

/** The elements that follow the pointer. */
export interface HoverParts {
  line: HTMLElement;
  moment: HTMLElement;
  frame: HTMLElement;
  tip: HTMLElement;
  tipName: HTMLElement;
  tipText: HTMLElement;
}

export class Hover {
  readonly #parts: HoverParts;
  readonly #engine: Engine;
  readonly #model: Model;
  /** Called with where the pointer is in time. */
  onTime: ((time: number | undefined) => void) | undefined;
  #x = 0;
  #y = 0;
  #shown = false;

  constructor(parts: HoverParts, engine: Engine, model: Model) {
    this.#parts = parts;
    this.#engine = engine;
    this.#model = model;
  }

  at(x: number, y: number): void {
    this.#x = x;
    this.#y = y;
    this.#shown = true;
    this.refresh();
  }

  hide(): void {
    if (!this.#shown) return;
    this.#shown = false;
    for (const part of [this.#parts.line, this.#parts.moment, this.#parts.frame, this.#parts.tip])
      part.hidden = true;
    this.onTime?.(undefined);
  }

  /** Names or tiles came, or the window moved under a pointer at rest. */
  refresh(): void {
    if (!this.#shown) return;
    const { screen } = this.#engine;
    const { line, moment } = this.#parts;
    const now = screen.time(this.#x);
    line.hidden = false;
    line.style.transform = `translateX(${Math.round(this.#x)}px)`;
    moment.hidden = false;
    const { origin } = this.#model;
    moment.textContent = timeLabel(
      now - origin,
      Math.max(1, screen.nsPerPixel),
      Math.max(Math.abs(now - origin), screen.view.to - origin),
    );
    const right = this.#x > screen.width - 110;
    moment.style.transform = `translateX(${Math.round(this.#x)}px)${right ? " translateX(-100%)" : ""}`;
    this.onTime?.(now);
    this.#describe(screen.at(this.#y), now);
  }

  #describe(spot: Spot | undefined, now: number): void {
    const { frame } = this.#parts;
    const words = spot && this.#words(spot, now);
    frame.hidden = !words?.hit;
    if (words?.hit) this.#frame(words.hit);
    this.#tip(words?.name, words?.text ?? "");
  }

  #words(spot: Spot, now: number): { name: string; text: string; hit?: Hit } | undefined {
    const model = this.#model;
    if (spot.lane.kind === "counter") {
      const counter = model.counters.value.find((one) => one.id === spot.lane.counter);
      const value = counter && counterAt(counter, now);
      return counter && value ? { name: counter.label, text: counterText(counter, value) } : undefined;
    }
    if (spot.lane.kind === "path") {
      const path = model.path.value;
      const at = path && pieceAt(path, now);
      if (!path || at === undefined) return undefined;
      const length = time(path.ends[at]! - path.starts[at]!);
      const kind = (path.classes[at] ?? "").replace("_", " ");
      const many = path.counts[at]! > 1 ? `${count(path.counts[at]!)} segments, mostly this one · ` : "";
      return { name: path.names[at] ?? "", text: `${many}${length} on the critical path · ${kind}` };
    }
    if (spot.row < 0) return undefined;
    const { screen } = this.#engine;
    const pieces = this.#engine.piecesOf(spot.row, screen.view.from, screen.view.to);
    const hit = itemAt(pieces, now, REACH_PX * screen.nsPerPixel);
    if (!hit) return undefined;
    const name = model.names.text(hit.name);
    if (name === undefined) model.names.flush();
    return { name: name ?? "…", text: textOf(hit), hit };
  }

  #frame(hit: Hit): void {
    const { screen } = this.#engine;
    const y = screen.rowY(hit.row);
    const left = Math.max(-2, Math.round(screen.x(hit.from)));
    const right = Math.min(screen.width + 2, Math.round(screen.x(hit.to)));
    const { style } = this.#parts.frame;
    if (y === undefined) return;
    style.transform = `translate(${left}px, ${Math.round(y)}px)`;
    style.width = `${Math.max(2, right - left)}px`;
    style.height = `${ROW_HEIGHT}px`;
  }

  #tip(name: string | undefined, text: string): void {
    const { tip, tipName, tipText } = this.#parts;
    tip.hidden = name === undefined;
    if (name === undefined) return;
    const { screen } = this.#engine;
    tipName.textContent = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
    tipText.textContent = text;
    const box = tip.getBoundingClientRect();
    const width = Math.min(box.width || TIP_WIDTH, TIP_WIDTH);
    const left = this.#x + TIP_GAP + width > screen.width ? this.#x - TIP_GAP - width : this.#x + TIP_GAP;
    const top =
      this.#y + TIP_GAP + box.height > screen.height ? this.#y - TIP_GAP - box.height : this.#y + TIP_GAP;
    tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${Math.round(Math.max(0, top))}px)`;
  }
}

function textOf(hit: Hit): string {
  const category = CATEGORIES[hit.category] ?? "";
  if (hit.count > 1) return `longest of ${count(hit.count)} here · ${category} · zoom in to see each`;
  if (hit.instant) return `instant · ${category}`;
  const length = time(hit.to - hit.from);
  if (!hit.exact) return `more than ${length} · ${category}`;
  // From afar the ends are known roughly; the details have them to the nanosecond.
  return `${hit.grain > (hit.to - hit.from) / 500 ? "≈ " : ""}${length} · ${category}`;
}
