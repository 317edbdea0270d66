// All charts of the service on one time axis, with one cursor; a drag over any of them zooms.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ServiceDashboard } from "../../../data/production-types.ts";
import { Choice } from "../../../parts/choice.tsx";
import { startDrag } from "../../../parts/drag.ts";
import { Card } from "../../../parts/states.tsx";
import { useSize } from "../../../parts/use-size.ts";
import { param, setParams } from "../../../session/route.ts";
import type { Zone } from "../clock.ts";
import { lastIndex } from "../from-end.ts";
import { pointAt, zoomInto } from "../period.ts";
import { zoomTo } from "../zoom.tsx";
import { Axis } from "./axis.tsx";
import { Charts } from "./charts.tsx";
import type { ServiceEvent } from "./events.ts";
import { type Frame, frameOf, LEFT_PX, RIGHT_PX } from "./frame.ts";
import { HeatMap } from "./heat.tsx";
import { cursor, forget, marked } from "./pointer.ts";
import { PointsTable } from "./points-table.tsx";

/** A shorter drag is a click that trembled. */
const MIN_DRAG = 6;

interface Props {
  of: ServiceDashboard;
  zone: Zone;
}

/** The first look: every request by its latency. */
export function HeatCard(props: Props & { onOpen: (key: string) => void }) {
  const text =
    "Each column is a point in time, each row a latency: the darker, the more requests. Circles are requests that were kept. Drag over any chart to zoom in.";
  return (
    <Card title={`Latency of ${props.of.route ?? "all requests"}`} text={text}>
      <Drawn {...props}>
        {(frame, marks) => <HeatMap {...{ frame, events: marks, onOpen: props.onOpen }} />}
      </Drawn>
    </Card>
  );
}

/** Everything else over time. */
export function Board(props: Props) {
  const table = param("show") === "table";
  return (
    <Card
      title="Over time"
      note={
        <Choice
          label="How it is shown"
          value={table ? "table" : "charts"}
          options={[
            { value: "charts", name: "Charts" },
            { value: "table", name: "Table" },
          ]}
          onChange={(next) => setParams({ show: next === "table" ? next : undefined })}
        />
      }
      class="sv-board-card"
    >
      {table ? (
        <PointsTable {...props} />
      ) : (
        <Drawn {...props}>{(frame, marks) => <Charts frame={frame} events={marks} />}</Drawn>
      )}
    </Card>
  );
}

/** Charts below a time axis, which the cursor goes through. */
function Drawn(
  props: Props & { children: (frame: Frame, marks: readonly ServiceEvent[]) => ComponentChildren },
) {
  const { of, zone } = props;
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  const width = Math.max(0, size.width - LEFT_PX - RIGHT_PX);
  const frame = useMemo(() => frameOf(of, width), [of, width]);
  const marks = of.happened;
  // Before the charts go, so that another period does not begin with a cursor at an old place.
  useEffect(() => forget, []);
  const minuteAt = (event: PointerEvent) => {
    const left = box.current?.getBoundingClientRect().left ?? 0;
    return frame.minute(Math.max(0, Math.min(width, event.clientX - left - LEFT_PX)));
  };
  const onDown = (event: PointerEvent) => {
    const target = event.target as Element;
    const element = target.closest<HTMLElement>(".sv-plot");
    if (event.button !== 0 || !element || target.closest("[data-request]")) return;
    const a = minuteAt(event);
    startDrag(element, event, {
      move(at) {
        cursor.value = minuteAt(at);
        const far = Math.abs(at.clientX - event.clientX) >= MIN_DRAG;
        marked.value = far || marked.value ? { a, b: minuteAt(at) } : undefined;
      },
      end: () => zoomToMarked(of),
      cancel() {
        marked.value = undefined;
      },
    });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: charts are not a fieldset
    <div
      ref={box}
      class="sv-board"
      role="group"
      aria-label="Charts over time. Arrow keys move the cursor, with Shift they mark a stretch, Enter zooms into it."
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the cursor is moved by keys, too
      tabIndex={0}
      onPointerDown={onDown}
      onPointerMove={(event) => {
        const isOver = (event.target as Element).closest(".sv-plot") !== null;
        cursor.value = isOver ? minuteAt(event) : undefined;
      }}
      onPointerLeave={() => {
        cursor.value = undefined;
      }}
      onKeyDown={(event) => onKey(event, frame)}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) forget();
      }}
    >
      {width > 0 && (
        <>
          <Axis frame={frame} events={marks} zone={zone} />
          {props.children(frame, marks)}
        </>
      )}
    </div>
  );
}

function zoomToMarked(of: ServiceDashboard): void {
  const stretch = marked.value;
  marked.value = undefined;
  zoomTo(stretch && zoomInto(stretch.a, stretch.b, of));
}

function onKey(event: KeyboardEvent, { of }: Frame): void {
  // Keys in a button are its own.
  if (event.target !== event.currentTarget) return;
  const many = of.minutes.length;
  const last = lastIndex(of.series.requests, (requests) => requests > 0);
  const now = cursor.value === undefined ? undefined : pointAt(cursor.value, of);
  const to = {
    ArrowLeft: now === undefined ? last : now - 1,
    ArrowRight: now === undefined ? last : now + 1,
    PageUp: (now ?? last) - Math.ceil(many / 10),
    PageDown: (now ?? last) + Math.ceil(many / 10),
    Home: 0,
    End: many - 1,
  }[event.key];
  const middle = (at: number) => (of.minutes[at] ?? of.from) + of.point_minutes / 2;
  if (to !== undefined) {
    const next = Math.max(0, Math.min(many - 1, to));
    const a = marked.value?.a ?? middle(now ?? next);
    cursor.value = middle(next);
    marked.value = event.shiftKey ? { a, b: middle(next) } : undefined;
  } else if (event.key === "Enter") zoomToMarked(of);
  else if (event.key === "Escape" && marked.value) forget();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
