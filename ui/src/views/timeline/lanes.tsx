// The names of the lanes, left of their rows: a tree that folds and pins, as real elements.

import { useRef } from "preact/hooks";
import { count, many } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { tipOn } from "../../parts/tip.tsx";
import type { Controller } from "./controller.ts";
import { counterValue } from "./counter-text.ts";
import type { Lane } from "./lane-layout.ts";
import type { Model } from "./model.ts";

/** Lanes as high as this have room for two lines. */
const MIN_TWO_LINES_PX = 40;

interface Props {
  model: Model;
  controller: Controller | undefined;
}

export function Lanes({ model, controller, label }: Props & { label?: string | undefined }) {
  const layout = model.laneLayout.value;
  const [first, last] = controller?.seen.value ?? [0, 0];
  const at = useRef<string | undefined>(undefined);
  const focus = (key: string) => {
    at.current = key;
    requestAnimationFrame(() => controller?.labels.get(key)?.focus());
  };
  const all = [...layout.pinned, ...layout.lanes];
  const onKeyDown = (event: KeyboardEvent) => {
    const index = all.findIndex((lane) => lane.key === at.current);
    const lane = all[index];
    if (!lane) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = all[index + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) {
        if (next.rows[0] !== undefined) controller?.actions.scrollTo(next.rows[0]);
        focus(next.key);
      }
    } else if (event.key === "ArrowRight" && lane.folded) model.toggle("folded", lane.key);
    else if (event.key === "ArrowLeft" && lane.canFold && !lane.folded) model.toggle("folded", lane.key);
    else if ((event.key === "Enter" || event.key === " ") && lane.canFold) model.toggle("folded", lane.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const seen = layout.lanes.slice(first, last);
  const shown = [...layout.pinned, ...seen];
  const current = shown.some((lane) => lane.key === at.current) ? at.current : shown[0]?.key;
  const item = (lane: Lane) => (
    <LaneName
      key={lane.key}
      lane={lane}
      model={model}
      controller={controller}
      tabbable={lane.key === current}
      onFocus={() => {
        at.current = lane.key;
        if (controller) controller.actions.lane = lane.key;
      }}
    />
  );
  return (
    <div class="tl-names" onWheel={(event) => controller?.wheel(event)}>
      <div class="tl-corner quiet">{`${count(layout.pinned.length + layout.lanes.length)} lanes`}</div>
      <div role="tree" aria-label={label ?? "Lanes"} class="tl-tree" onKeyDown={onKeyDown}>
        <div class="tl-pinned" data-part="pinned" role="none">
          <div class="tl-inner" data-part="pinnedInner" role="none">
            {layout.pinned.map(item)}
          </div>
        </div>
        <div class="tl-lanes" role="none">
          <div class="tl-inner" data-part="lanes" role="none">
            {seen.map(item)}
          </div>
        </div>
      </div>
    </div>
  );
}

interface NameProps extends Props {
  lane: Lane;
  tabbable: boolean;
  onFocus(): void;
}

function LaneName({ lane, model, controller, tabbable, onFocus }: NameProps) {
  const keep = (element: HTMLElement | null) => {
    if (element) controller?.labels.set(lane.key, element);
    else controller?.labels.delete(lane.key);
  };
  const fold = () => lane.canFold && model.toggle("folded", lane.key);
  const counter = model.counterLanes.value.find((one) => one.id === lane.counter);
  const most = counter && `up to ${counterValue(counter, counter.max)}`;
  const events = lane.kind === "rows" ? many(lane.count, "event") : "";
  const said = [lane.label, most, lane.detail, events].filter(Boolean);
  const hint = `${said.join(" · ")}${lane.hidden > 0 ? ` · ${lane.hidden} rows collapsed` : ""}`;
  // A counter is called by its words; the value beside them changes with the pointer and is not part of its name.
  const pinned = lane.pinned && lane.canPin ? ", pinned" : "";
  const name = lane.kind === "counter" ? undefined : `${said.join(", ")}${pinned}`;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of all its items
    <div
      ref={keep}
      role="treeitem"
      class={`tl-lane ${lane.kind}${lane.height >= MIN_TWO_LINES_PX ? " tall" : ""}`}
      aria-level={lane.kind === "counter" ? 2 : 1}
      aria-expanded={lane.canFold ? !lane.folded : undefined}
      aria-label={name}
      tabIndex={tabbable ? 0 : -1}
      aria-description={counter?.definition}
      style={{ top: `${lane.y}px`, height: `${lane.height}px` }}
      onFocus={onFocus}
      onClick={fold}
    >
      <div class="tl-name">
        <span class="tl-fold" aria-hidden="true">
          {lane.canFold && <Icon name={lane.folded ? "chevron" : "down"} size={12} />}
        </span>
        <span class="tl-words" {...tipOn(counter?.definition ?? hint)}>
          <bdi class="tl-label">{lane.label}</bdi>{" "}
          <span class="tl-detail quiet">
            {lane.kind === "counter" ? (
              <span class="tl-value num" aria-hidden="true" />
            ) : (
              <Detail lane={lane} />
            )}
          </span>
        </span>
        {lane.canPin && (
          <button
            type="button"
            class="tl-pin"
            tabIndex={-1}
            aria-pressed={lane.pinned}
            aria-label={lane.pinned ? `Unpin ${lane.label}` : `Pin ${lane.label} to the top`}
            title={lane.pinned ? "Unpin (P)" : "Pin to the top (P)"}
            onClick={(event) => {
              event.stopPropagation();
              model.toggle("pins", lane.key);
            }}
          >
            <PinMark />
          </button>
        )}
      </div>
    </div>
  );
}

function Detail({ lane }: { lane: Lane }) {
  const folded = lane.hidden > 0 ? `${many(lane.hidden, "more row")}, ${many(lane.count, "event")}` : "";
  return <>{[lane.detail, folded].filter(Boolean).join(" · ")}</>;
}

function PinMark() {
  return (
    <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
      <path d="M6 1h4l-.6 4.6L12 8.4V10H8.7L8 15l-.7-5H4V8.4l2.6-2.8z" fill="currentColor" />
    </svg>
  );
}
