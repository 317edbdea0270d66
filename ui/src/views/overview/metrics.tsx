// The numbers of the run in one row, each with its definition.

import { atLeast, many, percent, time } from "../../parts/format.ts";
import { type Definitions, definition, Metric } from "../../parts/metric.tsx";
import { type GpuAnswer, type GpuRow, PARTS, type Roofline, type StepsAnswer } from "./types.ts";

interface Loaded<T> {
  data: T | undefined;
}

export function Metrics(props: {
  steps: Loaded<StepsAnswer>;
  gpu: Loaded<GpuAnswer>;
  roofline: Loaded<Roofline>;
}) {
  const { steps, gpu, roofline } = props;
  const devices = gpu.data?.gpu ?? [];
  return (
    <div class="tiles" aria-busy={!steps.data || !gpu.data}>
      {steps.data && <StepTime of={steps.data} />}
      {gpu.data && devices.length === 0 && steps.data && <HostParts of={steps.data} />}
      {gpu.data &&
        devices.length > 0 &&
        SHARES.map(({ field, note, unknown }) => (
          <ShareMetric
            key={field}
            of={gpu.data?.definitions}
            field={field}
            values={devices.map((d) => d[field])}
            atLeast={devices.some((d) => (unknown?.(d) ?? 0) > 0)}
            note={
              devices.length === 1 ? note?.(devices[0] as GpuRow) : `across ${many(devices.length, "device")}`
            }
          />
        ))}
      {roofline.data && devices.length > 0 && (
        <ShareMetric
          of={roofline.data.definitions}
          field="mean_mfu"
          values={[roofline.data.mean_mfu]}
          atLeast={roofline.data.lower_bound}
          note={peak(roofline.data)}
        />
      )}
    </div>
  );
}

const SHARES: {
  field: "utilization" | "sm_efficiency" | "occupancy" | "tensor_core_share";
  note?: (row: GpuRow) => string;
  /** The share of time that is unknown. */
  unknown?: (row: GpuRow) => number;
}[] = [
  { field: "utilization", note: (row) => `over ${time(row.window_ns)}` },
  { field: "sm_efficiency" },
  { field: "occupancy" },
  {
    field: "tensor_core_share",
    note: (row) => {
      const unknown = row.tensor_core_unknown_share ?? 0;
      const parts = unknown > 0 ? [`${percent(unknown)} unknown`] : [];
      if (row.eligible_share !== null) parts.push(`${percent(row.eligible_share)} eligible`);
      return parts.join(", ");
    },
    unknown: (row) => row.tensor_core_unknown_share ?? 0,
  },
];

function StepTime({ of }: { of: StepsAnswer }) {
  if (!of.average) return null;
  const whole = of.steps.filter((s) => !s.partial);
  const walls = (whole.length > 0 ? whole : of.steps).map((s) => s.wall_ns);
  const several = walls.length > 1;
  const range = `${time(Math.min(...walls))} to ${time(Math.max(...walls))}`;
  return (
    <Metric
      label={of.synthetic ? "Trace" : several ? "Mean step" : "Step"}
      value={time(of.average.wall_ns)}
      text={definition(of.definitions, "wall_ns")}
      note={several ? range : of.synthetic ? "no steps recorded" : ""}
    />
  );
}

/** Without a device: what the host did in a step. */
function HostParts({ of }: { of: StepsAnswer }) {
  const { average } = of;
  if (!average) return null;
  return PARTS.filter(({ field }) => average[field] > 0).map(({ field }) => (
    <Metric
      key={field}
      of={of.definitions}
      field={field}
      value={time(average[field])}
      share={average[field] / average.wall_ns}
      note={`${percent(average[field] / average.wall_ns)} of ${of.synthetic ? "the trace" : "the step"}`}
    />
  ));
}

/** A share of one device, or from the lowest to the highest of several. */
function ShareMetric(props: {
  of: Definitions;
  field: string;
  values: (number | null)[];
  atLeast?: boolean;
  note: string | undefined;
}) {
  const known = props.values.filter((v) => v !== null);
  if (known.length === 0)
    return <Metric of={props.of} field={props.field} value="–" note={props.note || "not recorded"} />;
  const low = Math.min(...known);
  const high = Math.max(...known);
  const value = props.atLeast
    ? atLeast(low)
    : percent(low) === percent(high)
      ? percent(low)
      : `${percent(low).replace("%", "")}–${percent(high)}`;
  return <Metric of={props.of} field={props.field} value={value} note={props.note} share={low} />;
}

function peak(of: Roofline): string {
  const step = of.steps.find((s) => s.peak_tflops !== null);
  if (of.mean_mfu === null) return of.totals.modeled_ns === 0 ? "no work with a known cost" : "unknown";
  if (of.lower_bound && of.coverage !== null) return `${percent(of.coverage)} of kernel time covered`;
  return step?.peak_tflops ? `of ${Math.round(step.peak_tflops)} TFLOP/s ${step.precision ?? ""}` : "";
}
