// The step-time chart: one bar per step, stacked by what the time went into. A click shows that step alone.

import { useId, useRef, useState } from "preact/hooks";
import { ValueAxis } from "../../../parts/charts/axis.tsx";
import { ticksAround, timeLabel } from "../../../parts/charts/ticks.ts";
import { useSize } from "../../../parts/use-size.ts";
import type { PARTS } from "../types.ts";
import { Bar } from "./bar.tsx";
import { labelEvery, labelOf, roof } from "./bar-scale.ts";
import { isChosen, type StepBar } from "./bins.ts";

const LEFT_PX = 64;
const TOP_PX = 14;
const BOTTOM_PX = 26;
const MAX_BAR_PX = 88;

interface Props {
  bars: StepBar[];
  parts: readonly (typeof PARTS)[number][];
  hidden: ReadonlySet<string>;
  mean_ns: number | undefined;
  /** Draw the highest bars whole even if they dwarf the rest. */
  whole: boolean;
  chosen: string | undefined;
  onChoose?: ((bar: StepBar) => void) | undefined;
}

export function Chart(props: Props) {
  const { bars, hidden } = props;
  const box = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(box);
  const [at, setAt] = useState(0);
  const hatch = useId();

  const parts = props.parts.filter((p) => !hidden.has(p.field));
  // With parts hidden, what is left is measured; the longest step is known as a whole only.
  const peaks = bars.map((bar) =>
    hidden.size === 0 ? bar.longest.wall_ns : parts.reduce((total, p) => total + bar.parts[p.field], 0),
  );
  const cap = props.whole ? undefined : roof(peaks);
  const ticks = ticksAround(cap ?? Math.max(...peaks, 1), 5);
  const end = ticks[ticks.length - 1] ?? 1;
  const floor = height - BOTTOM_PX;
  const y = (ns: number) => floor - (Math.min(ns, end) / end) * (floor - TOP_PX);
  const plot = Math.max(0, width - LEFT_PX - 4);
  const slot = plot / bars.length;
  const thick = Math.max(1, Math.min(MAX_BAR_PX, slot > 6 ? slot * 0.82 : slot - (slot > 3 ? 1 : 0)));
  const every = labelEvery(bars.length, plot);

  const focus = (to: number) => {
    const next = Math.max(0, Math.min(bars.length - 1, to));
    setAt(next);
    box.current?.querySelector<SVGElement>(`[data-bar="${next}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.round(bars.length / 10));
    const to = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: bars.length - 1,
    }[event.key];
    const bar = bars[at];
    if (to !== undefined) focus(to);
    else if ((event.key === "Enter" || event.key === " ") && bar) props.onChoose?.(bar);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="steps-chart" ref={box}>
      {width > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a drawing has no fieldset
        <svg
          width={width}
          height={height}
          role="group"
          aria-label="Step times; arrow keys move between the bars"
          onKeyDown={onKeyDown}
        >
          <defs>
            <pattern
              id={hatch}
              width="6"
              height="6"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <rect class="hatch-line" width="2.5" height="6" />
            </pattern>
          </defs>
          <ValueAxis
            ticks={ticks}
            label={(ns) => (ns === 0 ? "0" : timeLabel(ns, ticks[1] ?? 1, end))}
            y={y}
            left={LEFT_PX}
            right={width}
          />
          {bars.map((bar, i) => (
            <Bar
              key={bar.first}
              bar={bar}
              index={i}
              x={LEFT_PX + i * slot}
              slot={slot}
              thick={thick}
              parts={parts}
              y={y}
              floor={floor}
              top={TOP_PX}
              cut={peaks[i]! > end}
              peak={hidden.size === 0 && bar.steps > 1 ? peaks[i] : undefined}
              hatch={hatch}
              faint={props.chosen !== undefined && !isChosen(bar, props.chosen)}
              pressed={isChosen(bar, props.chosen)}
              focusable={i === Math.min(at, bars.length - 1)}
              label={labelOf(bar, i, every)}
              onFocus={() => setAt(i)}
              onChoose={props.onChoose}
            />
          ))}
          {props.mean_ns !== undefined && hidden.size === 0 && props.mean_ns <= end && (
            <line class="mean" x1={LEFT_PX} x2={width} y1={y(props.mean_ns)} y2={y(props.mean_ns)} />
          )}
        </svg>
      )}
    </div>
  );
}
