// The frame of a chart over time: a width that follows the page, ticks below and at the left.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { niceTicks, timeTicks } from "./ticks.ts";

/** The width of an element, kept up to date. */
export function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = of.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, [of]);
  return width;
}

export const LEFT = 48;
const BELOW = 22;
const ABOVE = 6;

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

/** Axes around a drawing; `children` are drawn in a box from 0,0 to width,height. */
export function Axes(
  props: Frame & { name: string; marks?: number[] | undefined; children: ComponentChildren },
) {
  const { from, to, width, height, top } = props;
  const x = (at: number) => ((at - from) / (to - from)) * width;
  const y = (value: number) => height - (value / top) * height;
  // Lines closer than this would hide what they mark.
  const marks = props.marks ?? [];
  const spaced = marks.length > 1 && marks.length * 20 <= width ? marks : [];
  const across = timeTicks(from, to, Math.max(2, width / 130));
  return (
    <svg
      class="chart-svg"
      width={width + LEFT}
      height={height + BELOW + ABOVE}
      role="img"
      aria-label={props.name}
      viewBox={`${-LEFT} ${-ABOVE} ${width + LEFT} ${height + BELOW + ABOVE}`}
    >
      {niceTicks(top, 3).map((value) => (
        <g key={value}>
          <line class="grid" x1={0} x2={width} y1={y(value)} y2={y(value)} />
          <text class="tick" x={-6} y={y(value)} text-anchor="end" dominant-baseline="middle">
            {props.label(value)}
          </text>
        </g>
      ))}
      {spaced.map((at) => (
        <line class="mark" key={at} x1={x(at)} x2={x(at)} y1={0} y2={height} />
      ))}
      {props.children}
      {across.map(({ at, label }) => (
        <text
          class="tick"
          key={at}
          x={x(at)}
          y={height + 15}
          text-anchor={x(at) < 20 ? "start" : x(at) > width - 30 ? "end" : "middle"}
        >
          {label}
        </text>
      ))}
    </svg>
  );
}
