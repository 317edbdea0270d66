// What a memory chart is made of, as SVG. Colors come from the style sheet.

import type { DeviceMemory } from "../../data/wire.ts";
import { TimeAxis, ValueAxis } from "../../parts/charts/axis.tsx";
import { byteLabel, byteTicks, timeTicks } from "../../parts/charts/ticks.ts";
import { bytes, time } from "../../parts/format.ts";
import type { Span } from "../../parts/span.ts";
import type { StepRow } from "./curve.ts";
import { stepPath } from "./curve.ts";

/** Room around the curve. */
export const LEFT_PX = 68;
export const RIGHT_PX = 14;
export const TOP_PX = 20;
export const BOTTOM_PX = 22;

export function Tip(props: {
  at: number;
  allocated: number;
  reserved: number | null;
  step: StepRow | undefined;
}) {
  return (
    <dl class="mem-tip num">
      <dt>At</dt>
      <dd>
        {time(props.at)}
        {props.step && <span class="quiet"> step {props.step.step}</span>}
      </dd>
      <dt>Allocated</dt>
      <dd>{bytes(props.allocated)}</dd>
      {props.reserved !== null && (
        <>
          <dt>Reserved</dt>
          <dd>{bytes(props.reserved)}</dd>
        </>
      )}
    </dl>
  );
}

interface Scales {
  device: DeviceMemory;
  span: Span;
  x: (at: number) => number;
  y: (value: number) => number;
}

export function Curves({ device, span, x, y, bottom }: Scales & { bottom: number }) {
  const allocated = stepPath(
    device.curve,
    (point) => point.allocated_bytes,
    device.opening_allocated_bytes,
    span,
    x,
    y,
  );
  const reserved = stepPath(device.curve, (point) => point.reserved_bytes, null, span, x, y);
  const hasReserve = (device.peak_reserved_bytes ?? 0) > 0;
  return (
    <>
      <path class="mem-area" d={`${allocated}V${bottom}H${x(span.from)}Z`} />
      {hasReserve && <path class="mem-reserved" d={reserved} />}
      <path class="mem-allocated" d={allocated} />
    </>
  );
}

export function Peak({ device, span, x, y, left, right }: Scales & { left: number; right: number }) {
  const at = device.peak_at_ns;
  if (at < span.from || at > span.to) return null;
  const [px, py] = [x(at), y(device.peak_allocated_bytes)];
  const side = px > (left + right) / 2 ? "end" : "start";
  return (
    <g class="mem-peak">
      <circle cx={px} cy={py} r={4} />
      <text x={side === "end" ? px - 8 : px + 8} y={Math.max(py + 4, TOP_PX + 8)} text-anchor={side}>
        peak {bytes(device.peak_allocated_bytes)}
      </text>
    </g>
  );
}

/** Every other step is shaded; those with room bear their number. */
export function Steps(props: { steps: StepRow[]; span: Span; x: (at: number) => number; bottom: number }) {
  const { span, x, bottom } = props;
  return (
    <g class="mem-steps">
      {props.steps.map((step, index) => {
        const from = Math.max(span.from, step.start_ns);
        const to = Math.min(span.to, step.start_ns + step.wall_ns);
        if (to <= from) return null;
        const wide = x(to) - x(from);
        return (
          <g key={step.start_ns}>
            <rect
              class={index % 2 === 0 ? "even" : "odd"}
              x={x(from)}
              y={TOP_PX}
              width={wide}
              height={bottom - TOP_PX}
            />
            {wide > 52 && (
              <text x={x(from) + 4} y={TOP_PX - 6}>
                step {step.step}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

export function Axes(props: {
  levels: { low: number; high: number };
  span: Span;
  x: (at: number) => number;
  y: (value: number) => number;
  right: number;
  bottom: number;
}) {
  const { levels, span, x, y, right, bottom } = props;
  const room = bottom - TOP_PX;
  return (
    <g class="mem-axes">
      <ValueAxis
        ticks={byteTicks(levels.low, levels.high, room / 44)}
        label={byteLabel}
        y={y}
        left={LEFT_PX}
        right={right}
      />
      <TimeAxis
        ticks={timeTicks(span.from, span.to, (right - LEFT_PX) / 110)}
        x={x}
        y={bottom + 2}
        left={LEFT_PX}
        right={right}
      />
    </g>
  );
}

export function Capacity(props: { bytes: number; y: number; right: number }) {
  return (
    <g class="mem-capacity">
      <line x1={LEFT_PX} x2={props.right} y1={props.y} y2={props.y} />
      <text x={props.right - 4} y={props.y + 14} text-anchor="end">
        device memory {bytes(props.bytes)}
      </text>
    </g>
  );
}

/** What is not selected is veiled. */
export function Range(props: { from: number; to: number; right: number; bottom: number }) {
  const { from, to, right, bottom } = props;
  const height = bottom - TOP_PX;
  return (
    <g class="mem-range">
      <rect x={LEFT_PX} y={TOP_PX} width={Math.max(0, from - LEFT_PX)} height={height} />
      <rect x={to} y={TOP_PX} width={Math.max(0, right - to)} height={height} />
      <line x1={from} x2={from} y1={TOP_PX} y2={bottom} />
      <line x1={to} x2={to} y1={TOP_PX} y2={bottom} />
    </g>
  );
}
