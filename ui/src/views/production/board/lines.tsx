// Charts of lines and of columns over time.

import { ticksAround } from "../../../parts/charts/ticks.ts";
import { lastIndex } from "../from-end.ts";
import { known } from "../words.ts";
import type { ServiceEvent } from "./events.ts";
import { type Frame, linePath, stepArea } from "./frame.ts";
import { Strip } from "./strip.tsx";

export interface Line {
  label: string;
  color: string;
  values: readonly (number | null)[];
  dashed?: boolean;
}

interface Common {
  title: string;
  text?: string | undefined;
  frame: Frame;
  events: readonly ServiceEvent[];
  height: number;
  format: (value: number) => string;
  label: (value: number) => string;
  aside?: preact.ComponentChildren;
}

export function highest(values: readonly (number | null)[]): number {
  return values.reduce<number>((most, value) => (value !== null && value > most ? value : most), 0);
}

/** Lines on one scale that begins at zero, or where `ticks` and `y` say. */
export function Lines(
  props: Common & {
    lines: readonly Line[];
    /** The value at the upper edge; the next round one if left out. */
    top?: number | undefined;
    ticks?: readonly number[];
    scale?: (value: number) => number;
    filled?: boolean;
    /** What is written while nothing is pointed at. */
    whole?: (line: Line) => string;
    /** Values that are marked across. */
    thresholds?: readonly number[];
  },
) {
  const { lines, frame, height, format } = props;
  const ticks =
    props.ticks ?? ticksAround(props.top ?? highest(lines.flatMap((line) => line.values)), height > 80 ? 4 : 2);
  const top = props.top ?? ticks[ticks.length - 1] ?? 1;
  const scale = props.scale ?? ((value: number) => value / (top || 1));
  const y = (value: number) => height - Math.min(1.02, scale(value)) * height;
  const text = (value: number | null | undefined) => known(value, format);
  const last = ({ values }: Line) => text(values[lastIndex(values, (value) => value !== null)]);
  const words = lines.map((line) => `${line.label} ${text(highest(line.values))} at most`);
  return (
    <Strip
      {...{ ...props, ticks, y }}
      name={`${props.title} over time: ${words.join(", ")}. The same numbers are in the table.`}
      entries={lines.map((line) => ({
        label: line.label,
        color: line.color,
        dashed: line.dashed ?? false,
        value: (at) => (at === undefined ? (props.whole ?? last)(line) : text(line.values[at])),
      }))}
    >
      {props.thresholds?.map((value) => (
        <line key={value} class="sv-threshold" x1={0} x2={frame.width} y1={y(value)} y2={y(value)} />
      ))}
      {lines.map((line) => (
        <g key={line.label} class={line.color}>
          {props.filled && (
            <path
              class="sv-area"
              d={stepArea(
                line.values.map(() => 0),
                line.values,
                frame,
                y,
              )}
            />
          )}
          {!props.filled && (
            <path class={line.dashed ? "sv-line dashed" : "sv-line"} d={linePath(line.values, frame, y)} />
          )}
        </g>
      ))}
    </Strip>
  );
}
