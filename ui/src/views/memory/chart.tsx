// Allocated and reserved memory over time. Drag, or Shift with the arrow keys, selects a range.

import { useEffect, useRef, useState } from "preact/hooks";
import type { DeviceMemory } from "../../data/wire.ts";
import { startDrag } from "../../parts/drag.ts";
import { bytes, time } from "../../parts/format.ts";
import type { Span } from "../../parts/span.ts";
import { hideTip, showTip } from "../../parts/tip.tsx";
import { useSize } from "../../parts/use-size.ts";
import {
  Axes,
  BOTTOM_PX,
  Capacity,
  Curves,
  LEFT_PX,
  Peak,
  Range,
  RIGHT_PX,
  Steps,
  Tip,
  TOP_PX,
} from "./chart-parts.tsx";
import type { StepRow } from "./curve.ts";
import { levelAt, reach, spanOf } from "./curve.ts";

/** A shorter drag is a click. */
const MIN_DRAG_PX = 4;

interface Props {
  label: string;
  device: DeviceMemory;
  span: Span;
  /** Where the run ends. */
  extent: number;
  steps: StepRow[];
  /** What is selected inside the span. */
  selected?: Span | undefined;
  /** The device's memory, drawn as a line. */
  capacity?: number | undefined;
  height: number;
  onSelect: (span: Span | undefined) => void;
}

export function Chart(props: Props) {
  const { device, span, height, selected, capacity } = props;
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const [cursor, setCursor] = useState<number>();
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const anchor = useRef<number>(undefined);
  useEffect(() => hideTip, []);

  const levels = reach(device, true);
  const high = Math.max(levels.high, capacity ?? 0) * 1.04;
  const [right, bottom] = [Math.max(LEFT_PX + 1, width - RIGHT_PX), height - BOTTOM_PX];
  const length = Math.max(1, span.to - span.from);
  const x = (at: number) => LEFT_PX + ((at - span.from) / length) * (right - LEFT_PX);
  const y = (value: number) => bottom - ((value - levels.low) / (high - levels.low)) * (bottom - TOP_PX);
  const timeAt = (px: number) =>
    Math.min(span.to, Math.max(span.from, span.from + ((px - LEFT_PX) / (right - LEFT_PX)) * length));
  const shown = { device, span, x, y };

  const levelsAt = (at: number) => {
    const { allocated, reserved } = levelAt(device, at);
    const step = props.steps.find((s) => s.start_ns <= at && at < s.start_ns + s.wall_ns);
    return { allocated, reserved, step };
  };
  const onPointerMove = (event: PointerEvent) => {
    const frame = box.current?.getBoundingClientRect();
    if (!frame) return;
    const at = timeAt(event.clientX - frame.left);
    setCursor(at);
    const top = frame.top + y(levelsAt(at).allocated);
    const place = frame.left + x(at);
    showTip({ left: place, right: place, top, bottom: top }, <Tip at={at} {...levelsAt(at)} />, true);
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const chart = event.currentTarget as HTMLElement;
    const under = (pointer: PointerEvent) => timeAt(pointer.clientX - chart.getBoundingClientRect().left);
    const from = under(event);
    startDrag(chart, event, {
      move: (to) => setDrag({ from, to: under(to) }),
      end(at) {
        const to = under(at);
        if (Math.abs(x(to) - x(from)) >= MIN_DRAG_PX) props.onSelect(spanOf(from, to, props.extent));
        setDrag(undefined);
      },
      cancel: () => setDrag(undefined),
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor ?? span.from;
    const moves: Record<string, number> = {
      ArrowLeft: at - length / 100,
      ArrowRight: at + length / 100,
      PageDown: at - length / 10,
      PageUp: at + length / 10,
      Home: span.from,
      End: span.to,
    };
    const to = moves[event.key];
    if (event.key === "Escape" && selected) props.onSelect(undefined);
    else if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    else {
      const next = Math.min(span.to, Math.max(span.from, to));
      if (event.shiftKey) {
        anchor.current ??= at;
        const chosen = spanOf(anchor.current, next, props.extent);
        setDrag(chosen && { from: anchor.current, to: next });
      } else anchor.current = undefined;
      setCursor(next);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  // The range grows while Shift is held and is asked for once it is let go.
  const onKeyUp = (event: KeyboardEvent) => {
    if (event.key !== "Shift" || anchor.current === undefined) return;
    anchor.current = undefined;
    if (drag) props.onSelect(spanOf(drag.from, drag.to, props.extent));
    setDrag(undefined);
  };

  const range = drag ? { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) } : selected;
  const at = cursor === undefined ? undefined : levelsAt(cursor);
  const now = cursor ?? span.from;
  const said = levelsAt(now);
  return (
    <div
      ref={box}
      class="mem-chart"
      role="slider"
      tabIndex={0}
      aria-label={props.label}
      aria-valuemin={Math.round(span.from)}
      aria-valuemax={Math.round(span.to)}
      aria-valuenow={Math.round(now)}
      aria-valuetext={`${time(now)}: ${bytes(said.allocated)} allocated${said.reserved === null ? "" : `, ${bytes(said.reserved)} reserved`}${range ? `; selected ${time(range.from)} to ${time(range.to)}` : ""}`}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerLeave={() => {
        hideTip();
        if (!drag) setCursor(undefined);
      }}
      onDblClick={() => props.onSelect(undefined)}
      onKeyDown={onKeyDown}
      onKeyUp={onKeyUp}
    >
      <svg width={width} height={height} aria-hidden="true">
        <Steps steps={props.steps} span={span} x={x} bottom={bottom} />
        <Axes levels={{ low: levels.low, high }} span={span} x={x} y={y} right={right} bottom={bottom} />
        <Curves {...shown} bottom={y(Math.max(0, levels.low))} />
        {capacity !== undefined && <Capacity bytes={capacity} y={y(capacity)} right={right} />}
        {range && <Range from={x(range.from)} to={x(range.to)} right={right} bottom={bottom} />}
        <Peak {...shown} left={LEFT_PX} right={right} />
        {cursor !== undefined && at && (
          <g class="mem-cursor">
            <line x1={x(cursor)} x2={x(cursor)} y1={TOP_PX} y2={bottom} />
            <circle cx={x(cursor)} cy={y(at.allocated)} r={3.5} />
          </g>
        )}
      </svg>
    </div>
  );
}
