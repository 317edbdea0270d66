// The names of the lanes, their rows beside them, and what follows the pointer.

import type { Controller, ControllerParts } from "./controller.ts";
import { Lanes } from "./lanes.tsx";
import type { Model } from "./model.ts";

export function Board(props: {
  model: Model;
  controller: Controller | undefined;
  /** Whose lanes, where there are several timelines. */
  of?: string;
}) {
  const { model, controller, of } = props;
  return (
    <div class="tl-body">
      <Lanes model={model} controller={controller} label={of && `Lanes of ${of}`} />
      <div class="tl-tracks" data-part="tracks">
        <div class="tl-cursor" data-part="line" hidden />
        <div class="tl-frame" data-part="frame" hidden />
        <div class="tl-moment num" data-part="moment" hidden />
        <div class="tl-tip" data-part="tip" hidden>
          <bdi class="tl-tip-name" data-part="tipName" />
          <span class="quiet num" data-part="tipText" />
        </div>
      </div>
      <section
        class="tl-bar"
        data-part="bar"
        aria-label={of ? `Scroll lanes of ${of}` : "Scroll lanes"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroller must be reachable by keyboard
        tabIndex={0}
      >
        <div data-part="barInner" />
      </section>
    </div>
  );
}

/** The elements that are worked on directly. */
export function partsIn(root: HTMLElement): ControllerParts {
  const part = (name: string) => {
    const found = root.querySelector<HTMLElement>(`[data-part="${name}"]`);
    if (!found) throw new Error(`The timeline lacks its ${name}.`);
    return found;
  };
  return {
    tracks: part("tracks"),
    minimap: root.querySelector<HTMLCanvasElement>(`[data-part="minimap"]`) ?? undefined,
    pinned: part("pinned"),
    pinnedInner: part("pinnedInner"),
    lanes: part("lanes"),
    bar: part("bar"),
    barInner: part("barInner"),
    line: part("line"),
    moment: part("moment"),
    frame: part("frame"),
    tip: part("tip"),
    tipName: part("tipName"),
    tipText: part("tipText"),
  };
}
