// Axes of charts: lines across with their values at the left, moments below.

import type { ComponentChildren } from "preact";
import { type Tick, ticksWithin, timeTicks } from "./ticks.ts";

export const LEFT_PX = 48;
const BELOW_PX = 22;
const ABOVE_PX = 6;

/** Lines across the drawing at some values, written left of it. */
export function ValueAxis(props: {
  ticks: readonly number[];
  label: (value: number) => string;
  y: (value: number) => number;
  /** Where the lines begin and end. */
  left: number;
  right: number;
}) {
  const { y, left } = props;
  return (
    <g class="axis-values">
      {props.ticks.map((value) => (
        <g key={value}>
          <line class="grid" x1={left} x2={props.right} y1={y(value)} y2={y(value)} />
          <text class="tick" x={left - 7} y={y(value)} text-anchor="end" dominant-baseline="central">
            {props.label(value)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Moments below the drawing; those at its ends stay inside. */
export function TimeAxis(props: {
  ticks: readonly Tick[];
  x: (at: number) => number;
  y: number;
  left: number;
  right: number;
}) {
  const anchor = (x: number) => (x < props.left + 20 ? "start" : x > props.right - 30 ? "end" : "middle");
  return (
    <g class="axis-moments">
      {props.ticks.map(({ at, label }) => (
        <text class="tick" key={at} x={props.x(at)} y={props.y + 15} text-anchor={anchor(props.x(at))}>
          {label}
        </text>
      ))}
    </g>
  );
}

export interface Frame {
  from: number;
  to: number;
  /** Of the drawing, axes not counted. */
  width: number;
  height: number;
  /** The value at the upper edge. */
  top: number;
  label: (value: number) => string;
}

/** Axes around a drawing over time; `children` are drawn in a box from 0,0 to width,height. */
export function Axes(
  props: Frame & { name: string; marks?: number[] | undefined; children: ComponentChildren },
) {
  const { from, to, width, height, top } = props;
  const x = (at: number) => ((at - from) / (to - from)) * width;
  const y = (value: number) => height - (value / top) * height;
  // Lines closer than this would hide what they mark.
  const marks = props.marks ?? [];
  const spaced = marks.length > 1 && marks.length * 20 <= width ? marks : [];
  return (
    <svg
      class="chart-svg"
      width={width + LEFT_PX}
      height={height + BELOW_PX + ABOVE_PX}
      role="img"
      aria-label={props.name}
      viewBox={`${-LEFT_PX} ${-ABOVE_PX} ${width + LEFT_PX} ${height + BELOW_PX + ABOVE_PX}`}
    >
      <ValueAxis ticks={ticksWithin(top, 3)} label={props.label} y={y} left={0} right={width} />
      {spaced.map((at) => (
        <line class="mark" key={at} x1={x(at)} x2={x(at)} y1={0} y2={height} />
      ))}
      {props.children}
      <TimeAxis ticks={timeTicks(from, to, Math.max(2, width / 130))} x={x} y={height} left={0} right={width} />
    </svg>
  );
}
