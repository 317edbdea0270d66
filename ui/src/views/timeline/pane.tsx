// Below the timeline: all about the selected slice, or what an area holds. Its height can be changed.

import { signal } from "@preact/signals";
import { startDrag } from "../../parts/drag.ts";
import { Icon } from "../../parts/icons.tsx";
import { Trouble } from "../../parts/states.tsx";
import { AreaPane } from "./area-pane.tsx";
import type { Controller } from "./controller.ts";
import type { Model } from "./model.ts";
import "./pane.css";
import { SlicePane } from "./slice-pane.tsx";

const MIN_HEIGHT_PX = 90;
const KEY_STEP_PX = 24;
const height = signal(270);

export function Pane({ model, controller }: { model: Model; controller: Controller }) {
  const chosen = model.selection.value;
  const area = model.area.value;
  if (!chosen && !area) return null;
  return (
    <section
      class="tl-pane"
      aria-label={area ? "Selected area" : "Selected slice"}
      style={{ height: `${height.value}px` }}
    >
      <Grip />
      <button
        type="button"
        class="tl-close"
        aria-label="Close"
        title="Close (Esc)"
        onClick={() => controller.actions.clear()}
      >
        <Icon name="close" size={14} />
      </button>
      <div class="tl-pane-body">
        {area ? (
          <AreaPane model={model} area={area} controller={controller} />
        ) : chosen?.problem ? (
          <Trouble problem={chosen.problem} />
        ) : chosen?.details ? (
          <SlicePane details={chosen.details} of={chosen.of} controller={controller} />
        ) : (
          <div class="tl-pane-wait" aria-busy="true" />
        )}
      </div>
    </section>
  );
}

function set(value: number): void {
  height.value = Math.round(Math.max(MIN_HEIGHT_PX, Math.min(innerHeight * 0.7, value)));
}

/** The upper edge: drag it, or arrow keys when it has the focus. */
function Grip() {
  const onPointerDown = (event: PointerEvent) => {
    const grip = event.currentTarget as HTMLElement;
    const from = event.clientY;
    const old = height.value;
    startDrag(grip, event, { move: (to) => set(old + from - to.clientY) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowUp") set(height.value + KEY_STEP_PX);
    else if (event.key === "ArrowDown") set(height.value - KEY_STEP_PX);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is not a rule
    <div
      class="tl-grip"
      role="separator"
      aria-label="Height of the details pane"
      aria-orientation="horizontal"
      aria-valuenow={height.value}
      aria-valuemin={MIN_HEIGHT_PX}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
