// The layer above the rectangles: names, lines, selection, arrows, ruler.

import type { Ref } from "../../data/types.ts";
import { resize } from "../../draw/painter.ts";
import { Fitter } from "../../draw/text.ts";
import { shortName } from "../../parts/format.ts";
import { arrowsOf, curveOf, drawCurve } from "./arrows.ts";
import { pathNames } from "./critical-path.ts";
import { drawRuler } from "./draw-ruler.ts";
import type { Frame } from "./frame.ts";
import { LANE_PAD, ROW_HEIGHT } from "./lane-layout.ts";
import { RULER_PX, type Screen } from "./screen.ts";

const TEXT_PX = 11.5;
const PAD_PX = 4;
/** Short names remembered. */
const MAX_SHORT = 8192;
/** Outlines of hits drawn in a frame. */
const MAX_HITS = 2000;
/** Height of the line of the critical path. */
const PATH_LINE = 4;

export class Overlay {
  readonly canvas = document.createElement("canvas");
  readonly #context = this.canvas.getContext("2d");
  readonly #family = getComputedStyle(document.documentElement).getPropertyValue("--font");
  readonly #short = new Map<string, string>();
  #fitter: Fitter | undefined;

  draw(frame: Frame): void {
    const context = this.#context;
    if (!context) return;
    const { width, height, ratio, split } = frame.screen;
    resize(this.canvas, width, height, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${TEXT_PX}px ${this.#family}`;
    context.textBaseline = "middle";
    this.#fitter ??= new Fitter((text) => context.measureText(text).width);
    for (const pinned of [false, true]) {
      context.save();
      context.beginPath();
      context.rect(0, pinned ? RULER_PX : split, width, pinned ? split - RULER_PX : height - split);
      context.clip();
      this.#lanes(context, frame, pinned);
      this.#labels(context, frame, pinned);
      this.#pathNames(context, frame, pinned);
      this.#found(context, frame, pinned);
      this.#pathMarks(context, frame, pinned);
      this.#selected(context, frame, pinned);
      context.restore();
    }
    this.#area(context, frame);
    this.#arrows(context, frame);
    if (split > RULER_PX) {
      context.fillStyle = frame.palette.css.quiet;
      context.globalAlpha = 0.5;
      context.fillRect(0, split - 1, width, 1);
      context.globalAlpha = 1;
    }
    drawRuler(context, frame);
  }

  /** Lines between lanes, and what the axis of a counter says. */
  #lanes(context: CanvasRenderingContext2D, { screen, palette }: Frame, pinned: boolean): void {
    context.fillStyle = palette.css.line;
    for (const lane of pinned ? screen.laneLayout.pinned : screen.laneLayout.lanes) {
      const bottom = screen.laneTop(lane) + lane.height;
      if (bottom < 0) continue;
      if (bottom - lane.height > screen.height) break;
      context.fillRect(0, bottom - 1, screen.width, 1);
    }
  }

  #labels(context: CanvasRenderingContext2D, { model, palette, labels }: Frame, pinned: boolean): void {
    const first = pinned ? 0 : labels.split;
    const last = pinned ? labels.split : labels.n;
    const dark = palette.css["ink-dark"];
    const light = palette.css["ink-light"];
    let ink = -1;
    for (let i = first; i < last; i++) {
      const name = model.names.text(labels.a[i]!);
      if (name === undefined) continue;
      const room = labels.right[i]! - labels.left[i]! - 2 * PAD_PX;
      const text = this.#fitter?.fit(this.#shorten(name), room);
      if (!text) continue;
      if (ink !== labels.b[i]) {
        ink = labels.b[i]!;
        context.fillStyle = ink === 1 ? dark : light;
      }
      context.fillText(text, labels.left[i]! + PAD_PX, labels.top[i]! + ROW_HEIGHT / 2 + 0.5);
    }
  }

  /** What the pieces in the lane of the critical path are called. */
  #pathNames(context: CanvasRenderingContext2D, { screen, model, palette }: Frame, pinned: boolean): void {
    const lane = (pinned ? screen.laneLayout.pinned : screen.laneLayout.lanes).find(
      (one) => one.kind === "path",
    );
    const path = model.path.value;
    if (!lane || !path) return;
    const middle = Math.round(screen.laneTop(lane)) + LANE_PAD + ROW_HEIGHT / 2 + 0.5;
    pathNames(path, screen.view, screen.width, palette, (name, left, right, dark) => {
      const text = this.#fitter?.fit(this.#shorten(name), right - left - 2 * PAD_PX);
      if (!text) return;
      context.fillStyle = palette.css[dark ? "ink-dark" : "ink-light"];
      context.fillText(text, left + PAD_PX, middle);
    });
  }

  #shorten(name: string): string {
    let short = this.#short.get(name);
    if (short === undefined) {
      if (this.#short.size > MAX_SHORT) this.#short.clear();
      short = shortName(name.length > 1000 ? name.slice(0, 1000) : name);
      this.#short.set(name, short);
    }
    return short;
  }

  #found(context: CanvasRenderingContext2D, { screen, found, palette }: Frame, pinned: boolean): void {
    context.strokeStyle = palette.css.accent;
    context.lineWidth = 1.5;
    for (let i = 0; i < Math.min(found.length, MAX_HITS); i++)
      outline(context, screen, found[i]!, pinned, 0.75);
  }

  /** The pieces of the critical path under the slices they belong to. */
  #pathMarks(context: CanvasRenderingContext2D, frame: Frame, pinned: boolean): void {
    const { path, palette, screen, model } = frame;
    const pieces = model.path.value;
    if (!pieces) return;
    context.fillStyle = palette.css.bad;
    const last = pinned ? path.split : path.n;
    for (let i = pinned ? 0 : path.split; i < last; i++) {
      const left = path.left[i]!;
      const right = path.right[i]!;
      const y = path.top[i]! + ROW_HEIGHT - PATH_LINE;
      if (right - left <= 1) {
        context.fillRect(left, y, 1, PATH_LINE);
        continue;
      }
      let drawn = left;
      for (const piece of pieces.onPath.get(path.a[i]!) ?? []) {
        const from = Math.max(drawn, Math.floor(screen.x(pieces.starts[piece]!)));
        const to = Math.min(right, Math.ceil(screen.x(pieces.ends[piece]!)));
        if (from >= right) break;
        if (to > from) context.fillRect(from, y, to - from, PATH_LINE);
        drawn = Math.max(drawn, to);
      }
    }
  }

  #selected(context: CanvasRenderingContext2D, { screen, model, palette }: Frame, pinned: boolean): void {
    const chosen = model.selection.value;
    const ref = chosen?.details ?? (chosen?.hit && refOf(chosen.hit));
    if (!ref) return;
    context.strokeStyle = palette.css.surface;
    context.lineWidth = 4;
    outline(context, screen, ref, pinned, 0);
    context.strokeStyle = palette.css.select;
    context.lineWidth = 2;
    outline(context, screen, ref, pinned, 0);
  }

  #area(context: CanvasRenderingContext2D, { screen, model, palette }: Frame): void {
    const area = model.area.value;
    if (!area) return;
    const left = screen.x(area.from);
    const right = screen.x(area.to);
    const { width, height, split } = screen;
    context.fillStyle = palette.css.area;
    for (const row of area.rows) {
      const y = screen.rowY(row);
      const place = screen.laneLayout.places.get(row);
      if (y === undefined || !place || place.hidden) continue;
      const top = place.lane.pinned ? RULER_PX : split;
      const bottom = place.lane.pinned ? split : height;
      const from = Math.max(top, y - 1);
      const to = Math.min(bottom, y + ROW_HEIGHT);
      if (to > from) context.fillRect(left, from, Math.max(1, right - left), to - from);
    }
    context.fillStyle = palette.css.accent;
    for (const x of [left, right]) {
      if (x < 0 || x > width) continue;
      context.fillRect(Math.round(x) - 1, RULER_PX, 1, height - RULER_PX);
    }
  }

  #arrows(context: CanvasRenderingContext2D, { screen, model, palette }: Frame): void {
    const details = model.selection.value?.details;
    if (!details || details.links.length === 0) return;
    context.save();
    const arrows = arrowsOf(details);
    // Pinned lanes lie above the others: only arrows that end there are drawn over them.
    const ends = arrows.flatMap(({ from, to }) => [from.row, to.row]);
    const pinned = ends.some((row) => screen.laneLayout.places.get(row)?.lane.pinned);
    const top = pinned ? RULER_PX : screen.split;
    context.beginPath();
    context.rect(0, top, screen.width, screen.height - top);
    context.clip();
    for (const [color, line] of [
      [palette.css.surface, 4],
      [palette.css.select, 1.5],
    ] as const) {
      context.strokeStyle = color;
      context.fillStyle = palette.css.select;
      context.lineWidth = line;
      for (const arrow of arrows) {
        const curve = curveOf(
          arrow,
          (time) => screen.x(time),
          (row) => screen.rowY(row),
          screen.width,
        );
        if (curve) drawCurve(context, curve);
      }
    }
    context.restore();
  }
}

function refOf(hit: { row: number; from: number; to: number }): Place {
  return { row: hit.row, start_ns: hit.from, dur_ns: hit.to - hit.from };
}

type Place = Pick<Ref, "row" | "start_ns" | "dur_ns">;

/** A frame around a slice, if its row is in this part. */
function outline(
  context: CanvasRenderingContext2D,
  screen: Screen,
  ref: Place,
  pinned: boolean,
  inset: number,
) {
  const place = screen.laneLayout.places.get(ref.row);
  if (!place || place.lane.pinned !== pinned) return;
  const y = screen.placeY(place);
  if (y > screen.height || y + ROW_HEIGHT < 0) return;
  const left = Math.max(-4, screen.x(ref.start_ns));
  const right = Math.min(screen.width + 4, screen.x(ref.start_ns + ref.dur_ns));
  if (right < -4 || left > screen.width + 4) return;
  const width = Math.max(2, Math.round(right) - Math.round(left));
  context.strokeRect(Math.round(left) + inset, y + inset, width - 2 * inset, ROW_HEIGHT - 2 * inset);
}
