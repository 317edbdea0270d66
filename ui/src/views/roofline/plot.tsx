// The plot: two logarithmic axes, the roofs of the device, a mark for each operator.

import { useRef } from "preact/hooks";
import type { Hardware, RooflineRow } from "../../data/wire.ts";
import { ValueAxis } from "../../parts/charts/axis.tsx";
import { logLabel, logPosition, logTicks } from "../../parts/charts/ticks.ts";
import { digits, percent, time } from "../../parts/format.ts";
import { word } from "../../parts/key-names.ts";
import { hideTip, showTip } from "../../parts/tip.tsx";
import { useSize } from "../../parts/use-size.ts";
import { Mark, outline, precisionClass } from "./mark.tsx";
import {
  domainOf,
  flatLine,
  hasPlace,
  isBeyond,
  type Line,
  type PlacedRow,
  PRECISIONS,
  radius,
  roofsOf,
  slopeLine,
  spread,
} from "./roofs.ts";

const LEFT_PX = 62;
const BELOW_PX = 42;
const ABOVE_PX = 10;
const RIGHT_PX = 134;
const HEIGHT_PX = 430;
/** More marks than this hide each other. */
const MAX_MARKS = 2000;

interface Props {
  rows: RooflineRow[];
  hardware: Hardware | null;
  /** The row to point out. */
  marked: number | undefined;
  /** Whether the others step back. */
  alone: boolean;
  onHover: (index: number | undefined) => void;
  onPick: (index: number) => void;
}

export function Plot({ rows, hardware, marked, alone, onHover, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(0, useSize(box).width - LEFT_PX - RIGHT_PX);
  const used = new Set<string>(rows.flatMap((row) => (row.precision ? [row.precision] : [])));
  const roofs = hardware ? roofsOf(hardware, used) : [];
  const gbs = hardware?.memory_gbs;
  const domain = domainOf(rows, roofs, gbs);
  const { x: xs, y: ys } = domain;
  const x = (value: number) => logPosition(value, xs[0], xs[1], width);
  const y = (value: number) => HEIGHT_PX - logPosition(value, ys[0], ys[1], HEIGHT_PX);
  const across = logTicks(ys[0], ys[1]);
  const line = (l: Line) => ({ x1: x(l[0][0]), y1: y(l[0][1]), x2: x(l[1][0]), y2: y(l[1][1]) });
  const labels = spread(
    roofs.map((roof) => y(roof.tflops)),
    13,
  );
  const slope = gbs && roofs[0] ? slopeLine(gbs, roofs[0].tflops, xs[0], xs[1], ys[0]) : undefined;
  const placed = rows.flatMap((row, index) => (hasPlace(row) ? [{ row, index }] : []));
  // The largest first, so that small marks stay on top and can be reached.
  const drawn = placed.sort((a, b) => b.row.device_ns - a.row.device_ns).slice(0, MAX_MARKS);
  const shown = marked === undefined ? undefined : drawn.find((p) => p.index === marked);
  const at = (row: PlacedRow) => ({ px: x(row.intensity), py: y(row.tflops) });
  return (
    <div class="roofline-plot" ref={box}>
      {width > 0 && (
        <svg
          class="chart-svg"
          role="img"
          aria-label={`Roofline of ${drawn.length} operators. The table of operators has the same numbers; its rows are highlighted here.`}
          width={width + LEFT_PX + RIGHT_PX}
          height={HEIGHT_PX + BELOW_PX + ABOVE_PX}
          viewBox={`${-LEFT_PX} ${-ABOVE_PX} ${width + LEFT_PX + RIGHT_PX} ${HEIGHT_PX + BELOW_PX + ABOVE_PX}`}
        >
          {logTicks(xs[0], xs[1]).map(({ value, major }) => (
            <g key={value}>
              <line class={major ? "grid" : "grid faint"} x1={x(value)} x2={x(value)} y1={0} y2={HEIGHT_PX} />
              {major && (
                <text
                  class="tick"
                  x={x(value)}
                  y={HEIGHT_PX + 15}
                  text-anchor={value === xs[1] ? "end" : "middle"}
                >
                  {logLabel(value)}
                </text>
              )}
            </g>
          ))}
          {across
            .filter((tick) => !tick.major)
            .map(({ value }) => (
              <line key={value} class="grid faint" x1={0} x2={width} y1={y(value)} y2={y(value)} />
            ))}
          <ValueAxis
            ticks={across.filter((tick) => tick.major).map((tick) => tick.value)}
            label={logLabel}
            y={y}
            left={0}
            right={width}
          />
          <text class="axis" x={width / 2} y={HEIGHT_PX + 35} text-anchor="middle">
            FLOP/byte
          </text>
          <text class="axis" transform={`translate(-48 ${HEIGHT_PX / 2}) rotate(-90)`} text-anchor="middle">
            TFLOP/s
          </text>
          {slope && gbs && (
            <>
              <line class="roof memory" {...line(slope)} />
              <SlopeLabel {...line(slope)} text={`memory ${digits(gbs / 1000)} TB/s`} />
            </>
          )}
          {roofs.map((roof, index) => {
            const flat = gbs ? flatLine(roof.tflops, gbs, xs[0], xs[1]) : undefined;
            if (!flat) return null;
            const first = roof.keys.find((key) => used.has(key)) ?? "none";
            return (
              <g key={roof.tflops} class={roof.used ? "used" : "unused"}>
                <line class={`roof ${precisionClass(first)}`} {...line(flat)} />
                <text class="roof-label" x={width + 6} y={labels[index]} dominant-baseline="middle">
                  {roof.keys.map(word).join(", ")} <tspan class="roof-value">{digits(roof.tflops)}</tspan>
                </text>
              </g>
            );
          })}
          {drawn.map(({ row, index }) => {
            const { px, py } = at(row);
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the rows of the table do the same by keyboard
              <path
                key={index}
                class={`point ${precisionClass(row.precision)} ${alone && shown && index !== marked ? "dim" : ""}`}
                transform={`translate(${px.toFixed(1)} ${py.toFixed(1)})`}
                d={outline(row.bound, radius(row.share ?? 0))}
                onPointerEnter={(event) => {
                  onHover(index);
                  showTip(event.currentTarget, <Tip row={row} />, true);
                }}
                onPointerLeave={() => {
                  onHover(undefined);
                  hideTip();
                }}
                onClick={() => onPick(index)}
              />
            );
          })}
          {shown && (
            <path
              class="point-ring"
              transform={`translate(${at(shown.row).px.toFixed(1)} ${at(shown.row).py.toFixed(1)})`}
              d={outline(shown.row.bound, radius(shown.row.share ?? 0) + 3)}
            />
          )}
        </svg>
      )}
      <Legend rows={rows} />
      <Missing
        rows={rows}
        drawn={drawn.length}
        placed={placed.length}
        beyond={rows.filter((row) => isBeyond(row, domain)).length}
        hardware={hardware}
      />
    </div>
  );
}

/** A label along the slope. */
function SlopeLabel(props: { x1: number; y1: number; x2: number; y2: number; text: string }) {
  const angle = (Math.atan2(props.y2 - props.y1, props.x2 - props.x1) * 180) / Math.PI;
  const mx = props.x1 + (props.x2 - props.x1) * 0.3;
  const my = props.y1 + (props.y2 - props.y1) * 0.3;
  return (
    <text class="roof-label" transform={`translate(${mx} ${my}) rotate(${angle}) translate(0 -5)`}>
      {props.text}
    </text>
  );
}

function Tip({ row }: { row: PlacedRow }) {
  return (
    <div class="roofline-tip">
      <p class="roofline-tip-name">
        <bdi>{row.name}</bdi>
      </p>
      {row.input_shapes && (
        <p class="mono roofline-tip-shapes">
          <bdi>{row.input_shapes.replaceAll(", []", "")}</bdi>
        </p>
      )}
      <p>
        {time(row.device_ns)}
        {row.share !== null && `, ${percent(row.share)} of device time`}
      </p>
      <p>
        {digits(row.tflops)} TFLOP/s · {row.gbs === null ? "–" : digits(row.gbs)} GB/s · {digits(row.intensity)}{" "}
        FLOP/byte
      </p>
      {row.bound && row.of_roofline !== null && (
        <p>
          {percent(row.of_roofline)} of its roof; {word(row.bound)}-bound
          {row.precision ? `, ${row.precision}` : ""}
        </p>
      )}
    </div>
  );
}

function Legend({ rows }: { rows: RooflineRow[] }) {
  const shown = rows.filter(hasPlace);
  const precisions = PRECISIONS.filter((key) => shown.some((row) => row.precision === key));
  const bounds = (["compute", "memory", "host_bus"] as const).filter((key) =>
    shown.some((row) => row.bound === key),
  );
  return (
    <ul class="legend chart-legend">
      {bounds.map((bound) => (
        <li key={bound}>
          <Mark row={{ bound, precision: null }} /> {word(bound)}-bound
        </li>
      ))}
      {precisions.map((precision) => (
        <li key={precision}>
          <Mark row={{ bound: "compute", precision }} /> {precision}
        </li>
      ))}
    </ul>
  );
}

/** What the plot does not show. */
function Missing(props: {
  rows: RooflineRow[];
  drawn: number;
  placed: number;
  beyond: number;
  hardware: Hardware | null;
}) {
  const idle = props.rows.length - props.placed;
  const few = props.placed - props.drawn;
  const words: string[] = [];
  if (idle > 0) words.push(`${idle} operators that only move data are not plotted; see the table.`);
  if (props.beyond > 0) words.push(`${props.beyond} are outside the axes and drawn at the edge.`);
  if (few > 0) words.push(`The shortest ${few} are not drawn.`);
  if (!props.hardware) words.push("No roofs: the peak rates of this device are unknown.");
  return words.length > 0 ? <p class="side-note">{words.join(" ")}</p> : null;
}
