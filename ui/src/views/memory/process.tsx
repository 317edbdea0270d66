// The memory of the process beside that of its devices, where the recording watched it.

import { useRef } from "preact/hooks";
import type { Definition } from "../../data/types.ts";
import type { ProcessMemory } from "../../data/wire.ts";
import { bytes, time } from "../../parts/format.ts";
import { definition, labelOf, Metric } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { useSize } from "../../parts/use-size.ts";
import { Axes, BOTTOM_PX, LEFT_PX, RIGHT_PX, TOP_PX } from "./chart-parts.tsx";

const HEIGHT_PX = 150;

export function Process(props: { rows: ProcessMemory[]; definitions: Definition[] | undefined }) {
  // RSS and PSS share their definitions; the label says which it is.
  type Field = "process_peak_bytes" | "process_first_bytes" | "process_last_bytes";
  const metric = (field: Field, row: ProcessMemory, at?: number) => (
    <Metric
      label={`${labelOf(props.definitions, field)} ${row.measure}`}
      value={bytes(row[field])}
      text={definition(props.definitions, field)}
      note={at === undefined ? undefined : `at ${time(at)}`}
    />
  );
  const processes = [...new Set(props.rows.map((row) => row.process))];
  return (
    <>
      {processes.map((process) => {
        const rows = props.rows.filter((row) => row.process === process);
        const resident = rows.find((row) => row.measure === "RSS");
        const shared = rows.find((row) => row.measure === "PSS");
        const named = processes.length > 1 && process !== null ? ` ${process}` : "";
        if (!resident) return null;
        return (
          <Card key={process} title={`Memory of the process${named}`}>
            <div class="metrics mem-metrics">
              {metric("process_peak_bytes", resident, resident.process_peak_at_ns)}
              {metric("process_first_bytes", resident)}
              {metric("process_last_bytes", resident)}
              {/* Where reading it takes long, the monitor stops: its last reading may be an early one. */}
              {shared && metric("process_last_bytes", shared, shared.points.at(-1)?.at_ns ?? 0)}
            </div>
            <Curve resident={resident} shared={shared} />
          </Card>
        );
      })}
    </>
  );
}

function Curve({ resident, shared }: { resident: ProcessMemory; shared: ProcessMemory | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const last = resident.points.at(-1)?.at_ns ?? 0;
  const first = Math.min(0, resident.points[0]?.at_ns ?? 0);
  if (resident.points.length < 2) return null;
  const [right, bottom] = [Math.max(LEFT_PX + 1, width - RIGHT_PX), HEIGHT_PX - BOTTOM_PX];
  const high = resident.process_peak_bytes * 1.04;
  const x = (at: number) => LEFT_PX + ((at - first) / Math.max(1, last - first)) * (right - LEFT_PX);
  const y = (value: number) => bottom - (value / high) * (bottom - TOP_PX);
  const path = ({ points }: ProcessMemory) =>
    points.map((look, at) => `${at === 0 ? "M" : "L"}${x(look.at_ns)} ${y(look.process_bytes)}`).join("");
  const area = `${path(resident)}V${bottom}H${x(resident.points[0]?.at_ns ?? 0)}Z`;
  const said = `Resident memory of the process over time, at most ${bytes(resident.process_peak_bytes)}`;
  return (
    <>
      {shared && (
        <ul class="legend mem-legend">
          <li>
            <span class="mem-key allocated" /> RSS
          </li>
          <li>
            <span class="mem-key reserved" /> PSS
          </li>
        </ul>
      )}
      <div ref={box} class="mem-process" role="img" aria-label={said}>
        <svg class="mem-chart" width={width} height={HEIGHT_PX} aria-hidden="true">
          <Axes
            levels={{ low: 0, high }}
            span={{ from: first, to: last }}
            x={x}
            y={y}
            right={right}
            bottom={bottom}
          />
          <path class="mem-area" d={area} />
          <path class="mem-allocated" d={path(resident)} />
          {shared && shared.points.length > 1 && <path class="mem-reserved" d={path(shared)} />}
        </svg>
      </div>
    </>
  );
}
