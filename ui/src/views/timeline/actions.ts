// What a user can do to the timeline. Keys, gestures and buttons all end here.

import { isAbort, problemOf } from "../../data/source.ts";
import type { Ref } from "../../data/types.ts";
import { many, time } from "../../parts/format.ts";
import { isBackward } from "./arrows.ts";
import { type Hit, neighbor } from "./hit.ts";
import { ROW_HEIGHT } from "./lane-layout.ts";
import { type Model, type Selection, watched } from "./model.ts";
import type { Motion } from "./motion.ts";
import { RULER_PX, type Screen } from "./screen.ts";
import type { AreaChoice } from "./url-state.ts";
import { around, center, type Span, whole } from "./visible-span.ts";

/** A slice narrower than this is hard to see: jumping to it zooms in. */
const MIN_SLICE_PX = 6;
/** An instant is shown within this. */
const INSTANT_MARGIN_NS = 10_000;
const TWICE_MS = 450;
/** A slice is framed without its details when they take longer. */
const ANSWER_MS = 80;

export class Actions {
  readonly model: Model;
  readonly motion: Motion;
  readonly screen: Screen;
  /** The lane under the pointer or with the focus. */
  lane: string | undefined;
  /** Called when the URL should remember where we were. */
  onJump: (() => void) | undefined;
  #loading: AbortController | undefined;
  #walking: AbortController | undefined;
  #lastFocus = Number.NEGATIVE_INFINITY;

  constructor(model: Model, motion: Motion, screen: Screen) {
    this.model = model;
    this.motion = motion;
    this.screen = screen;
  }

  /** Chooses a slice; all about it is fetched. */
  async select(id: number, hit?: Hit): Promise<void> {
    const { model } = this;
    this.#loading?.abort();
    const control = new AbortController();
    this.#loading = control;
    model.follow = true;
    const chosen: Selection = { id, of: hit?.count ?? 1, ...(hit ? { hit } : {}) };
    const show = (more: Partial<Selection>) => {
      clearTimeout(late);
      model.area.value = undefined;
      model.selection.value = { ...chosen, ...more };
    };
    const begin = () => model.selection.value?.id !== id && show({});
    // After a click the answer is nearly always there within a frame: then the page changes once, not twice. A jump
    // without one is in the URL at once, or going back would not find it.
    const late = hit && setTimeout(begin, ANSWER_MS);
    if (!hit) begin();
    try {
      const details = await watched(model.source.slice(model.run, id, control.signal));
      if (control.signal.aborted) return;
      show({ details });
      const length = details.dur_ns > 0 ? time(details.dur_ns) : "instant";
      const step = details.step === null ? "" : `, step ${details.step}`;
      model.announcement.value = `${details.name.slice(0, 200)}, ${length}, ${details.group}${step}`;
    } catch (error) {
      if (isAbort(error) || control.signal.aborted) return;
      show({ problem: problemOf(error) });
    } finally {
      clearTimeout(late);
    }
  }

  /** Chooses a slice and brings it into sight. */
  async jump(id: number, ref?: Ref): Promise<void> {
    this.onJump?.();
    if (ref) this.reveal(ref);
    await this.select(id);
    const details = this.model.selection.value?.details;
    if (!ref && details?.id === id) this.reveal(details);
  }

  clear(): void {
    this.#loading?.abort();
    const { model } = this;
    if (model.selection.value || model.area.value) {
      model.selection.value = undefined;
      model.area.value = undefined;
    } else if (model.marks.value.current) model.marks.value = { ...model.marks.value, current: undefined };
    else if (model.query.value.text) model.query.value = { text: "", exact: false };
  }

  setArea(area: AreaChoice | undefined): void {
    this.#loading?.abort();
    this.model.selection.value = undefined;
    this.model.area.value = area;
    if (area) {
      const rows = many(area.rows.length, "row");
      this.model.announcement.value = `area of ${time(area.to - area.from)} over ${rows}`;
    }
  }

  /** Brings a slice into sight: its lane unfolded, its row scrolled to, its time within the window. */
  reveal(ref: Ref): void {
    const { model, screen } = this;
    const group = model.layout.rows[ref.row]?.group;
    if (group !== undefined && screen.laneLayout.places.get(ref.row)?.hidden)
      model.toggle("folded", `g${group}`);
    this.scrollTo(ref.row);
    const view = this.motion.target;
    const perPixel = (view.to - view.from) / screen.width;
    const end = ref.start_ns + ref.dur_ns;
    const wide = ref.dur_ns / perPixel;
    if (wide < MIN_SLICE_PX) this.show(this.spanOf(ref), 4);
    else if (ref.dur_ns > view.to - view.from) this.show(this.spanOf(ref), 0.15);
    else if (ref.start_ns < view.from || end > view.to)
      this.motion.glide(center(view, (ref.start_ns + end) / 2, model.bounds), performance.now());
  }

  /** Scrolls so that a row is in sight. */
  scrollTo(row: number): void {
    const { model, screen } = this;
    screen.laneLayout = model.laneLayout.value;
    if (screen.sees(row)) return;
    const place = screen.laneLayout.places.get(row);
    if (!place) return;
    const y = screen.placeY(place);
    if (place.lane.pinned) model.pinScroll += y - (RULER_PX + 8);
    else model.scroll += y - (screen.split + (screen.height - screen.split - ROW_HEIGHT) / 2);
    model.redraw();
  }

  /** The pane took some of the height, or lanes came above: what was chosen stays in sight. */
  resized(): void {
    const { details, hit } = this.model.selection.peek() ?? {};
    const row = details?.row ?? hit?.row;
    if (row !== undefined && this.model.follow) this.scrollTo(row);
  }

  spanOf(ref: Pick<Ref, "start_ns" | "dur_ns">): Span {
    const air = ref.dur_ns === 0 ? INSTANT_MARGIN_NS : 0;
    return { from: ref.start_ns - air, to: ref.start_ns + ref.dur_ns + air };
  }

  show(span: Span, air = 0.15): void {
    this.motion.glide(around(span, this.model.bounds, air), performance.now());
  }

  showAll(): void {
    this.motion.glide(whole(this.model.bounds), performance.now());
  }

  /** What is chosen, as a span. */
  chosen(): Span | undefined {
    const { area, selection, marks } = this.model;
    if (area.value) return area.value;
    const { details, hit } = selection.value ?? {};
    if (details) return this.spanOf(details);
    return hit ?? marks.value.current;
  }

  /** Once: in the center. Twice: as wide as the window. */
  focus(now: number): void {
    const span = this.chosen();
    if (!span) return;
    const twice = now - this.#lastFocus < TWICE_MS;
    this.#lastFocus = twice ? Number.NEGATIVE_INFINITY : now;
    const row = this.model.selection.value?.details?.row;
    if (row !== undefined) this.scrollTo(row);
    if (twice) this.show(span);
    else this.motion.glide(center(this.motion.target, (span.from + span.to) / 2, this.model.bounds), now);
  }

  /** The slice after or before the chosen one in its row. */
  async walk(forward: boolean): Promise<void> {
    const { model } = this;
    this.#walking?.abort();
    const control = new AbortController();
    this.#walking = control;
    const details = model.selection.value?.details;
    const row = details?.row ?? this.#firstRow();
    if (row === undefined) return;
    const start = details?.start_ns ?? (forward ? model.view.from : model.view.to);
    const origin = { row, id: details?.id ?? -1, start };
    try {
      const id = await watched(neighbor(model.tiles, model.top, origin, forward, control.signal));
      if (id === undefined) {
        model.announcement.value = forward ? "last slice in this row" : "first slice in this row";
        return;
      }
      await this.select(id);
      const found = model.selection.value?.details;
      if (found?.id === id) this.reveal(found);
    } catch (error) {
      if (!isAbort(error)) model.trouble.value = problemOf(error);
    }
  }

  /** The row of the lane under the pointer, else the first with anything in it. */
  #firstRow(): number | undefined {
    const { pinned, lanes } = this.model.laneLayout.value;
    const all = [...pinned, ...lanes];
    const here = all.find((lane) => lane.key === this.lane && lane.rows.length > 0);
    const lane = here ?? lanes.find((one) => one.rows.length > 0) ?? all.find((one) => one.rows.length > 0);
    return lane?.rows[0];
  }

  /** Along the arrows: to what this causes, or to what caused it. */
  follow(forward: boolean): void {
    const links = this.model.selection.value?.details?.links ?? [];
    const link = links.find(({ relation }) => isBackward(relation) !== forward);
    if (link) void this.jump(link.to.id, link.to);
    else this.model.announcement.value = forward ? "no arrow leads forward" : "no arrow leads back";
  }

  /** The next or previous training step fills the window. */
  step(forward: boolean): void {
    const { steps } = this.model.layout;
    if (steps.length === 0) return;
    const { from, to } = this.motion.target;
    const middle = (from + to) / 2;
    const [first, last] = this.model.layout.work_ns;
    const all = to - from > (last - first) * 0.95;
    let at = steps.findIndex((step) => step.end_ns > middle);
    if (at < 0) at = steps.length - 1;
    const now = steps[at];
    // From afar the first press goes to the step in the middle's place: the first, or the last.
    const inside = !all && now && now.start_ns <= middle && to - from < 3 * (now.end_ns - now.start_ns);
    if (all) at = forward ? 0 : steps.length - 1;
    else if (inside) at += forward ? 1 : -1;
    const step = steps[Math.max(0, Math.min(steps.length - 1, at))];
    if (!step) return;
    this.show({ from: step.start_ns, to: step.end_ns }, 0.04);
    this.model.announcement.value = `step ${step.step}, ${time(step.end_ns - step.start_ns)}`;
  }

  /** Marks what is chosen; again takes the mark away. Kept ones stay until taken away by keeping them again. */
  mark(keep: boolean): void {
    const { marks } = this.model;
    const span = this.chosen();
    const same = (one: Span | undefined) => one && span && one.from === span.from && one.to === span.to;
    if (!keep) {
      marks.value = { ...marks.value, current: same(marks.value.current) ? undefined : span };
      return;
    }
    if (!span) return;
    const kept = marks.value.kept.filter((one) => !same(one));
    if (kept.length === marks.value.kept.length) kept.push({ from: span.from, to: span.to });
    marks.value = { kept, current: same(marks.value.current) ? undefined : marks.value.current };
  }

  /** Pins the lane of the selection, else the one under the pointer. */
  pin(): void {
    const row = this.model.selection.value?.details?.row;
    const group = row === undefined ? undefined : this.model.layout.rows[row]?.group;
    const key = this.lane ?? (group === undefined ? undefined : `g${group}`);
    if (key === undefined || key === "counters" || key === "recorded" || key === "path") return;
    this.model.toggle("pins", key);
  }
}
