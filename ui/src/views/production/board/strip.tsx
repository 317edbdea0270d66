// One chart of the board: its title, its legend with the values under the cursor, its drawing, and what lies over it.

import type { ComponentChildren } from "preact";
import { ValueAxis } from "../../../parts/charts/axis.tsx";
import { Defined } from "../../../parts/metric.tsx";
import { pointAt } from "../period.ts";
import { grouped, type ServiceEvent, worstKind } from "./events.ts";
import { type Frame, LEFT_PX, RIGHT_PX } from "./frame.ts";
import { cursor, marked } from "./pointer.ts";

export interface Entry {
  label: string;
  /** The class that carries its color. */
  color?: string;
  /** Its value at a point; at none for the whole period. */
  value: (at: number | undefined) => string;
  dashed?: boolean;
}

/** Lines closer than this would hide what they mark. */
export const MARK_APART = 12;
const ABOVE_PX = 7;
const BELOW_PX = 7;

export function Strip(props: {
  title: string;
  text?: string | undefined;
  entries: readonly Entry[];
  frame: Frame;
  height: number;
  /** What is drawn, in words. */
  name: string;
  ticks: readonly number[];
  label: (value: number) => string;
  y: (value: number) => number;
  events: readonly ServiceEvent[];
  /** Beside the title, and at the other end of it. */
  aside?: ComponentChildren;
  corner?: ComponentChildren;
  /** Below the lines of the axis. */
  under?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const { frame, height } = props;
  return (
    <section class="sv-strip" aria-label={props.title || "Heat map"}>
      <header class="sv-strip-head">
        {props.title && (
          <h3>
            <Defined text={props.text}>{props.title}</Defined>
          </h3>
        )}
        {props.aside}
        <Legend entries={props.entries} frame={frame} />
        {props.corner}
      </header>
      <div class="sv-plot">
        {props.under}
        <svg
          class="chart-svg"
          width={frame.width + LEFT_PX + RIGHT_PX}
          height={height + ABOVE_PX + BELOW_PX}
          viewBox={`${-LEFT_PX} ${-ABOVE_PX} ${frame.width + LEFT_PX + RIGHT_PX} ${height + ABOVE_PX + BELOW_PX}`}
          role="img"
          aria-label={props.name}
        >
          <ValueAxis ticks={props.ticks} label={props.label} y={props.y} left={0} right={frame.width} />
          {props.children}
          <Over frame={frame} height={height} events={props.events} />
        </svg>
      </div>
    </section>
  );
}

function Legend({ entries, frame }: { entries: readonly Entry[]; frame: Frame }) {
  const at = cursor.value === undefined ? undefined : pointAt(cursor.value, frame.of);
  return (
    <ul class="sv-legend">
      {entries.map(({ label, color, value, dashed }) => (
        <li key={label}>
          {color && label && <span class={`sv-key ${color} ${dashed ? "dashed" : ""}`} aria-hidden="true" />}
          {label} <b>{value(at)}</b>
        </li>
      ))}
    </ul>
  );
}

/** What lies over every chart at the same place: marks, the marked stretch, the cursor. */
function Over(props: { frame: Frame; height: number; events: readonly ServiceEvent[] }) {
  const { frame, height } = props;
  const stretch = marked.value;
  const at = cursor.value;
  const clamp = (x: number) => Math.max(0, Math.min(frame.width, x));
  return (
    <g>
      {grouped(props.events, frame.x, MARK_APART).map((group) => {
        const x = frame.x(group[0]?.minute ?? 0);
        return (
          <line
            key={x}
            class={`sv-mark sv-${worstKind(group)}`}
            x1={x}
            x2={x}
            y1={-ABOVE_PX}
            y2={height + BELOW_PX}
          />
        );
      })}
      {stretch && (
        <rect
          class="sv-marked"
          x={clamp(Math.min(frame.x(stretch.a), frame.x(stretch.b)))}
          width={Math.abs(clamp(frame.x(stretch.a)) - clamp(frame.x(stretch.b)))}
          y={-ABOVE_PX}
          height={height + ABOVE_PX + BELOW_PX}
        />
      )}
      {at !== undefined && (
        <line
          class="sv-cursor"
          x1={clamp(frame.x(at))}
          x2={clamp(frame.x(at))}
          y1={-ABOVE_PX}
          y2={height + BELOW_PX}
        />
      )}
    </g>
  );
}
