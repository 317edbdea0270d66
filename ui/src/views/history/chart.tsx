// A metric over its measurements: the median of each with the range of its runs, the levels, and where they changed.

import { useRef } from "preact/hooks";
import type { MetricHistory } from "../../data/wire.ts";
import { LEFT_PX, ValueAxis } from "../../parts/charts/axis.tsx";
import { roundLabel } from "../../parts/charts/ticks.ts";
import { measured } from "../../parts/measured.ts";
import { useSize } from "../../parts/use-size.ts";
import { acrossOf, labelled, levelsOf, scaleOf, shortLabel } from "./plot.ts";

const HEIGHT_PX = 260;
const BELOW_PX = 24;
const ABOVE_PX = 8;
const AXIS_PX = LEFT_PX + 24;
/** Room for one label below. */
const LABEL_PX = 90;

export function HistoryChart({ of }: { of: MetricHistory }) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  return (
    <div ref={box} class="history-chart">
      {size.width > 0 && <Drawn of={of} width={Math.max(120, size.width - AXIS_PX)} />}
    </div>
  );
}

function Drawn({ of, width }: { of: MetricHistory; width: number }) {
  const { points, changes, unit } = of;
  const { low, high, ticks } = scaleOf(points, 5);
  const x = (at: number) => acrossOf(at, points.length, width);
  const y = (value: number) => HEIGHT_PX - ((value - low) / (high - low)) * HEIGHT_PX;
  const edge = (at: number) => (at / Math.max(1, points.length)) * width;
  return (
    <svg
      class="chart-svg"
      width={width + AXIS_PX}
      height={HEIGHT_PX + BELOW_PX + ABOVE_PX}
      viewBox={`${-AXIS_PX} ${-ABOVE_PX} ${width + AXIS_PX} ${HEIGHT_PX + BELOW_PX + ABOVE_PX}`}
      role="img"
      aria-label={`${of.metric} of ${of.baseline} over ${points.length} measurements, ${changes.length} changes of level`}
    >
      <ValueAxis
        ticks={ticks}
        label={roundLabel((value) => measured(unit, value))}
        y={y}
        left={0}
        right={width}
      />
      {levelsOf(points.length, changes).map((level) => (
        <line
          key={level.from}
          class="history-level"
          x1={edge(level.from)}
          x2={edge(level.to)}
          y1={y(level.value)}
          y2={y(level.value)}
        />
      ))}
      {changes.map((change) => (
        <line
          key={change.at}
          class={`history-change ${change.after > change.before ? "worse" : "better"}`}
          x1={edge(change.at)}
          x2={edge(change.at)}
          y1={0}
          y2={HEIGHT_PX}
        />
      ))}
      <polyline class="history-line" points={points.map((one, at) => `${x(at)},${y(one.value)}`).join(" ")} />
      {points.map((one, at) => (
        <g key={at} class="history-point">
          <line x1={x(at)} x2={x(at)} y1={y(one.low)} y2={y(one.high)} />
          <circle cx={x(at)} cy={y(one.value)} r={3.5}>
            <title>{`${measured(unit, one.value)} at ${one.commit ?? ""} ${one.subject ?? ""} (${one.measured_at})`}</title>
          </circle>
        </g>
      ))}
      {labelled(points.length, Math.max(1, Math.floor(width / LABEL_PX))).map((at) => (
        <text key={at} class="tick" x={x(at)} y={HEIGHT_PX + 16} text-anchor="middle">
          {shortLabel(points[at]!)}
        </text>
      ))}
    </svg>
  );
}
