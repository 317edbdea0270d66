// All requests by latency over time: a column per point, a row per bucket, darker where there are more.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ServiceDashboard } from "../../../data/production-types.ts";
import { mix, parseColor, type Rgb } from "../../../draw/color.ts";
import { roundLabel } from "../../../parts/charts/ticks.ts";
import { count, many, time } from "../../../parts/format.ts";
import { theme } from "../../../session/theme.ts";
import { keyOf } from "../merge.ts";
import { pointAt } from "../period.ts";
import { known } from "../words.ts";
import type { ServiceEvent } from "./events.ts";
import { type Frame, LEFT_PX, linePath } from "./frame.ts";
import { bucketOf, darkness, type HeatScale, heatScale, heatTicks, heightOf, latencyAt } from "./heat-scale.ts";
import { PERCENTILES } from "./percentiles.ts";
import { cursor } from "./pointer.ts";
import { Strip } from "./strip.tsx";

const HEIGHT_PX = 190;
const COLOR_LEVELS = 48;
/** Requests that are shown as dots. */
const MAX_DOTS = 40;

/** Those that are drawn over the map; more would hide it. */
const SHOWN = PERCENTILES.filter((one) => one.label !== "p90");

export function HeatMap(props: {
  frame: Frame;
  events: readonly ServiceEvent[];
  onOpen: (key: string) => void;
}) {
  const { frame } = props;
  const { of } = frame;
  const [cell, setCell] = useState<number>();
  const scale = useMemo(() => heatScale(of.heat), [of]);
  if (!scale) return null;
  const y = (ns: number) => HEIGHT_PX - heightOf(ns, scale) * HEIGHT_PX;
  const onMove = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setCell(bucketOf(latencyAt(1 - (event.clientY - box.top) / HEIGHT_PX, scale), of.heat.bounds_ns));
  };
  return (
    <Strip
      title=""
      {...{ frame, height: HEIGHT_PX, y, events: props.events }}
      name={`Requests by latency over time, from ${time(scale.low_ns)} to ${time(scale.high_ns)}; p50 ${time(of.total.p50_ns)}, p95 ${time(of.total.p95_ns)}, p99 ${time(of.total.p99_ns)}. Percentiles are in the table.`}
      ticks={heatTicks(scale, 7)}
      label={roundLabel(time)}
      entries={SHOWN.map(({ field, ...line }) => ({
        ...line,
        value: (at) => known(at === undefined ? of.total[field] : of.series[field][at], time),
      }))}
      corner={<Scale scale={scale} of={of} bucket={cell} />}
      under={<Cells frame={frame} scale={scale} />}
    >
      {SHOWN.map(({ field, color, dashed }) => {
        const path = linePath(of.series[field], frame, y);
        return (
          <g key={field} class={color}>
            <path class="sv-halo" d={path} />
            <path class={dashed ? "sv-line dashed" : "sv-line"} d={path} />
          </g>
        );
      })}
      <rect
        class="sv-catch"
        width={frame.width}
        height={HEIGHT_PX}
        onPointerMove={onMove}
        onPointerLeave={() => setCell(undefined)}
      />
      <Dots frame={frame} y={y} onOpen={props.onOpen} />
    </Strip>
  );
}

/** Requests that were kept, where they are on the map; the table below has them, too. */
function Dots(props: { frame: Frame; y: (ns: number) => number; onOpen: (key: string) => void }) {
  const { frame, y } = props;
  const { of } = frame;
  const shown = of.exemplars.filter((one) => {
    const minute = one.ended_ns / 60e9;
    return (one.slow || one.failed) && minute >= of.from && minute < of.until;
  });
  return (
    <g>
      {shown.slice(0, MAX_DOTS).map((one) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the table of requests does the same by keyboard
        <circle
          key={keyOf(one)}
          class={one.failed ? "sv-dot failed" : "sv-dot"}
          data-request={keyOf(one)}
          cx={frame.x(one.ended_ns / 60e9)}
          cy={y(one.latency_ns)}
          r={4}
          onClick={() => props.onOpen(keyOf(one))}
        >
          <title>{`${one.route}, ${time(one.latency_ns)}${one.failed ? ", failed" : ""}: show this request`}</title>
        </circle>
      ))}
    </g>
  );
}

/** What the colors mean, or what is in the cell under the pointer. */
function Scale({ scale, of, bucket }: { scale: HeatScale; of: ServiceDashboard; bucket: number | undefined }) {
  const at = cursor.value === undefined ? undefined : pointAt(cursor.value, of);
  const { bounds_ns, counts } = of.heat;
  if (at !== undefined && bucket !== undefined && bounds_ns[bucket + 1] !== undefined) {
    const requests = counts[at]?.[bucket] ?? 0;
    return (
      <p class="sv-scale">
        {`${time(bounds_ns[bucket] ?? 0)} to ${time(bounds_ns[bucket + 1] ?? 0)}: `}
        <b>{many(requests, "request")}</b>
      </p>
    );
  }
  return (
    <p class="sv-scale">
      1 <span class="sv-ramp" aria-hidden="true" /> {count(scale.most)} requests
    </p>
  );
}

function Cells({ frame, scale }: { frame: Frame; scale: HeatScale }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const shown = theme.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element) paint(element, frame, scale);
  }, [frame, scale, shown]);
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it takes no focus; the drawing over it has the words
    <canvas
      ref={canvas}
      class="sv-heat"
      aria-hidden="true"
      style={{ left: `${LEFT_PX}px`, width: `${frame.width}px`, height: `${HEIGHT_PX}px` }}
    />
  );
}

/** Colors from that of the surface to that of the text, over those of the accent: dark on light, light on dark. */
function ramp(style: CSSStyleDeclaration): string[] {
  const stops = ["--surface", "--accent-soft", "--accent", "--text"].map((name) =>
    parseColor(style.getPropertyValue(name)),
  );
  const at = [0, 0.15, 0.7, 1];
  return Array.from({ length: COLOR_LEVELS + 1 }, (_, level) => {
    const share = level / COLOR_LEVELS;
    const next = Math.max(
      1,
      at.findIndex((stop) => stop >= share),
    );
    const [from, to] = [at[next - 1]!, at[next]!];
    const { r, g, b }: Rgb = mix(stops[next - 1]!, stops[next]!, (share - from) / (to - from));
    return `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;
  });
}

function paint(canvas: HTMLCanvasElement, { of, width, x }: Frame, scale: HeatScale): void {
  const sharp = devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(HEIGHT_PX * sharp);
  const context = canvas.getContext("2d");
  if (!context) return;
  const colors = ramp(getComputedStyle(canvas));
  const { bounds_ns, counts } = of.heat;
  const rows: number[] = [];
  for (let bucket = scale.first; bucket <= scale.last + 1; bucket++)
    rows.push(Math.round((1 - heightOf(bounds_ns[bucket] ?? 0, scale)) * canvas.height));
  counts.forEach((column, at) => {
    const start = of.minutes[at] ?? of.from;
    const left = Math.round(x(Math.max(of.from, start)) * sharp);
    const right = Math.round(x(Math.min(of.until, start + of.point_minutes)) * sharp);
    for (let bucket = scale.first; bucket <= scale.last; bucket++) {
      const many = column[bucket] ?? 0;
      if (many === 0) continue;
      const upper = rows[bucket - scale.first + 1]!;
      context.fillStyle = colors[Math.round(darkness(many, scale.most) * COLOR_LEVELS)]!;
      // Points narrower than a pixel are drawn, too.
      context.fillRect(
        left,
        upper,
        Math.max(1, right - left),
        Math.max(1, rows[bucket - scale.first]! - upper),
      );
    }
  });
}
