// Pointers on the rows and on the minimap: every gesture ends where the button is released.

import { signal } from "@preact/signals";
import { beforeEach, describe, expect, it } from "vitest";
import type { Actions } from "../../src/views/timeline/actions.ts";
import type { Engine } from "../../src/views/timeline/engine.ts";
import { Gestures } from "../../src/views/timeline/gestures.ts";
import type { Hover } from "../../src/views/timeline/hover.ts";
import { draggedTo, gripAt, isClick, type MinimapState } from "../../src/views/timeline/minimap-drag.ts";
import { RULER_PX, Screen } from "../../src/views/timeline/screen.ts";
import type { AreaChoice } from "../../src/views/timeline/url-state.ts";
import type { Span } from "../../src/views/timeline/visible-span.ts";
import { StandIn } from "../pointers.ts";

const EXTENT = 1_000_000;

/** The rows, 1000 pixels wide, with a window of 1000 ns a pixel; what the user did is written down. */
function rows() {
  const host = new StandIn();
  const screen = new Screen();
  screen.width = 1000;
  screen.height = 500;
  screen.view = { from: 0, to: EXTENT };
  const model = {
    view: { from: 200_000, to: 400_000 } as Span,
    extent: EXTENT,
    bounds: EXTENT,
    area: signal<AreaChoice | undefined>(undefined),
    selection: signal<unknown>("a slice"),
    dragging: signal(false),
    scrolled: 0,
    scrollBy(by: number) {
      this.scrolled += by;
    },
    redraw() {},
  };
  const actions = {
    model,
    motion: { stop() {}, anchor: 0 },
    lane: undefined,
    setArea(area: AreaChoice) {
      model.area.value = area;
    },
  };
  const hover = { at() {}, hide() {} };
  new Gestures(
    host.element,
    { screen } as unknown as Engine,
    actions as unknown as Actions,
    hover as unknown as Hover,
  );
  return { host, model };
}

describe("a gesture on the rows", () => {
  let { host, model } = rows();
  beforeEach(() => {
    ({ host, model } = rows());
  });

  it("selects an area up to where the button is released", () => {
    host.point("pointerdown", 100, 200);
    host.point("pointermove", 300, 220);
    expect(model.dragging.value).toBe(true);
    host.point("pointerup", 700, 240);
    expect(model.area.value).toMatchObject({ from: 100_000, to: 700_000 });
    expect(model.dragging.value).toBe(false);
  });

  it("selects an area though no move was seen", () => {
    host.point("pointerdown", 100, 200);
    host.point("pointerup", 700, 240);
    expect(model.area.value).toMatchObject({ from: 100_000, to: 700_000 });
    expect(model.selection.value).toBe("a slice");
  });

  it("moves an edge of the area to where the button is released", () => {
    model.area.value = { from: 100_000, to: 300_000, rows: [4] };
    host.point("pointerdown", 300, 200);
    host.point("pointermove", 350, 200);
    host.point("pointerup", 600, 200);
    expect(model.area.value).toEqual({ from: 100_000, to: 600_000, rows: [4] });
  });

  it("pans by the whole way", () => {
    host.point("pointerdown", 500, 200, { shiftKey: true });
    host.point("pointermove", 480, 190);
    host.point("pointerup", 450, 170);
    expect(model.view).toEqual({ from: 250_000, to: 450_000 });
    expect(model.scrolled).toBe(30);
  });

  it("is a click if the button is released nearby", () => {
    model.area.value = { from: 1, to: 2, rows: [] };
    host.point("pointerdown", 500, RULER_PX + 100);
    host.point("pointermove", 502, RULER_PX + 101);
    host.point("pointerup", 503, RULER_PX + 101);
    // There is nothing: the click clears.
    expect(model.area.value).toBeUndefined();
    expect(model.selection.value).toBeUndefined();
  });

  it("ends without a trace when the pointer is taken away", () => {
    host.point("pointerdown", 100, 200);
    host.point("pointercancel", 0, 0);
    host.point("pointermove", 700, 240);
    expect(model.area.value).toBeUndefined();
    expect(model.dragging.value).toBe(false);
  });
});

describe("a drag on the minimap", () => {
  const map: MinimapState = { width: 1000, extent: EXTENT, view: { from: 200_000, to: 400_000 } };

  it("moves the window by the way of the pointer", () => {
    const grip = gripAt(map, 300);
    expect(grip.kind).toBe("move");
    expect(draggedTo(map, grip, 500)).toEqual({ from: 400_000, to: 600_000 });
  });

  it("moves an edge, also beyond the other", () => {
    expect(draggedTo(map, gripAt(map, 401), 700)).toEqual({ from: 200_000, to: 700_000 });
    expect(draggedTo(map, gripAt(map, 401), 100)).toEqual({ from: 100_000, to: 200_000 });
  });

  it("draws a new window beside the old one; a click there draws none", () => {
    const grip = gripAt(map, 600);
    expect(isClick(grip, 603)).toBe(true);
    expect(draggedTo(map, grip, 603)).toBe(map.view);
    expect(isClick(grip, 800)).toBe(false);
    expect(draggedTo(map, grip, 800)).toEqual({ from: 600_000, to: 800_000 });
  });
});
