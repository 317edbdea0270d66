// Idle time over the run, as columns stacked by kind of gap. A click opens the timeline there.

import { useRef, useState } from "preact/hooks";
import type { StepSpan } from "../../data/account.ts";
import type { GapRow, GapsAnswer } from "../../data/wire.ts";
import { Axes, LEFT_PX } from "../../parts/charts/axis.tsx";
import { roundLabel } from "../../parts/charts/ticks.ts";
import { count, percent, time } from "../../parts/format.ts";
import { windowAround } from "../../parts/jump.tsx";
import { gapKind } from "../../parts/key-names.ts";
import { Card } from "../../parts/states.tsx";
import { useSize } from "../../parts/use-size.ts";
import { go } from "../../session/route.ts";
import { outlines, stripOf } from "./columns.ts";

const HEIGHT_PX = 96;
const COLUMN_PX = 3;

export function IdleStrip(props: { gaps: GapRow[]; totals: GapsAnswer["totals"]; steps: StepSpan[] }) {
  const { gaps, totals, steps } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(0, useSize(box).width - LEFT_PX);
  const [at, setAt] = useState<number>();
  const from = Math.min(...gaps.map((g) => g.start_ns), ...steps.map((s) => s.start_ns));
  const to = Math.max(...gaps.map((g) => g.start_ns + g.idle_ns), ...steps.map((s) => s.start_ns + s.wall_ns));
  const kinds = [...new Set(gaps.map((g) => g.kind))];
  const columns = Math.max(1, Math.floor(width / COLUMN_PX));
  const strip = stripOf(gaps, from, to, columns, kinds);
  const paths = outlines(strip, width, HEIGHT_PX);
  const drawn = gaps.reduce((sum, gap) => sum + gap.idle_ns, 0);
  const column = (event: MouseEvent) => {
    const left = box.current?.getBoundingClientRect().left ?? 0;
    const index = Math.floor(((event.clientX - left - LEFT_PX) / width) * columns);
    return index >= 0 && index < columns ? index : undefined;
  };
  const span = (to - from) / columns;
  const idle = at === undefined ? 0 : strip.shares.reduce((sum, row) => sum + (row[at] ?? 0), 0);
  const note =
    gaps.length < totals.gaps
      ? `longest ${count(gaps.length)} of ${count(totals.gaps)} gaps: ${percent(drawn / Math.max(1, totals.idle_ns))} of the idle time`
      : undefined;
  return (
    <Card
      title="Over the run"
      text="For each column of the chart, the share of its time during which the device was idle. Thin lines mark the start of steps. Click to open the timeline there."
      note={at === undefined ? note : `${time(from + at * span)}: idle ${percent(idle)} of ${time(span)}`}
    >
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the table of gaps below does the same by keyboard */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as above */}
      <div
        class="chart-box"
        ref={box}
        onMouseMove={(event) => setAt(column(event))}
        onMouseLeave={() => setAt(undefined)}
        onClick={(event) => {
          const index = column(event);
          if (index !== undefined) go("timeline", windowAround(from + index * span, span));
        }}
      >
        {width > 0 && (
          <Axes
            name={`Idle time over the run: ${percent(totals.idle_ns / Math.max(1, totals.wall_ns))} of step time. The gaps are listed below.`}
            {...{ from, to, width, height: HEIGHT_PX, top: 1 }}
            label={roundLabel(percent)}
            marks={steps.map((s) => s.start_ns)}
          >
            {paths.map((path, index) => (
              <path key={kinds[index]} class={`fill-${gapKind(kinds[index] ?? "").category}`} d={path} />
            ))}
            {at !== undefined && (
              <rect
                class="cursor"
                x={(at / columns) * width}
                width={width / columns}
                y={0}
                height={HEIGHT_PX}
              />
            )}
          </Axes>
        )}
      </div>
      <ul class="legend chart-legend">
        {kinds.map((kind) => (
          <li key={kind}>
            <span class={`swatch cat-${gapKind(kind).category}`} /> {gapKind(kind).label}
          </li>
        ))}
      </ul>
    </Card>
  );
}
