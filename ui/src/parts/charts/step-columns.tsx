// One column per step, its parts from below, the whole as a frame.

import { useRef, useState } from "preact/hooks";
import { pushParams } from "../../session/route.ts";
import { stepName } from "../key-names.ts";
import { hideTip, showTip } from "../tip.tsx";
import { useSize } from "../use-size.ts";
import { LEFT_PX, ValueAxis } from "./axis.tsx";
import { roundLabel, ticksWithin } from "./ticks.ts";

export interface StepColumn {
  step: number;
  whole: number;
  parts: number[];
  /** Said while the pointer is on it. */
  note: string;
}

const HEIGHT_PX = 170;
const MAX_SLOT_PX = 96;

export function StepColumns(props: {
  name: string;
  columns: StepColumn[];
  /** One for each part. */
  classes: string[];
  format: (value: number) => string;
  /** The value at the upper edge; the largest whole if left out. */
  top?: number;
}) {
  const { columns } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(0, useSize(box).width - LEFT_PX - 12);
  const [at, setAt] = useState<number>();
  const top = props.top ?? Math.max(1, ...columns.map((c) => c.whole));
  const slot = Math.min(MAX_SLOT_PX, width / Math.max(1, columns.length));
  const bar = Math.max(1, slot * 0.72);
  const every = Math.max(1, Math.ceil(34 / Math.max(1, slot)));
  const y = (value: number) => HEIGHT_PX - (value / top) * HEIGHT_PX;
  return (
    <div class="chart-box" ref={box}>
      {width > 0 && (
        <svg
          class="chart-svg"
          role="img"
          aria-label={`${props.name}: ${columns.length} steps. The same numbers are in the table or above.`}
          width={width + LEFT_PX + 12}
          height={HEIGHT_PX + 30}
          viewBox={`${-LEFT_PX - 12} -6 ${width + LEFT_PX + 12} ${HEIGHT_PX + 30}`}
        >
          <ValueAxis
            ticks={ticksWithin(top, 4)}
            label={roundLabel(props.format)}
            y={y}
            left={0}
            right={width}
          />
          {columns.map((column, index) => {
            const x = index * slot + (slot - bar) / 2;
            let below = 0;
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the step can be chosen above, by keyboard
              <g
                key={column.step}
                class={at === index ? "column active" : "column"}
                onPointerEnter={(event) => {
                  setAt(index);
                  showTip(event.currentTarget, column.note, true);
                }}
                onPointerLeave={() => {
                  setAt(undefined);
                  hideTip();
                }}
                onClick={() => column.step >= 0 && pushParams({ step: column.step })}
              >
                <rect
                  class="whole"
                  x={x}
                  width={bar}
                  y={y(column.whole)}
                  height={HEIGHT_PX - y(column.whole)}
                />
                {column.parts.map((part, which) => {
                  const from = y(below);
                  below += part;
                  return (
                    <rect
                      key={which}
                      class={props.classes[which]}
                      x={x}
                      width={bar}
                      y={y(below)}
                      height={Math.max(0, from - y(below))}
                    />
                  );
                })}
                {index % every === 0 && (
                  <text class="tick" x={x + bar / 2} y={HEIGHT_PX + 15} text-anchor="middle">
                    {stepName(column.step)}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
