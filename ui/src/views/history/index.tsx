// Did it get slower over time? A metric of a baseline over its measurements, and the commits at which its level changed.

import type { BaselineListed, MetricHistory } from "../../data/wire.ts";
import { count, many } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { measured } from "../../parts/measured.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";
import { runs, source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { HistoryChart } from "./chart.tsx";
import "./style.css";

export function History() {
  const there = runs.value?.history === true;
  const listed = useLoaded(there ? "baselines" : undefined, (signal) => source.baselines(signal));
  if (!there)
    return (
      <Card title="History of baselines">
        <Empty
          title="No baselines are open here."
          hint="Baselines are what `stepscope baseline save` keeps. Their history is shown by:"
          code="stepscope history --view"
        />
      </Card>
    );
  return <Await of={listed}>{(baselines) => <Chosen baselines={baselines} />}</Await>;
}

function Chosen({ baselines }: { baselines: BaselineListed[] }) {
  const usual = baselines.find((one) => one.name === "main") ?? baselines[0];
  const baseline = baselines.find((one) => one.name === param("baseline")) ?? usual;
  const metric = param("metric") ?? baseline?.metrics[0];
  if (!baseline || metric === undefined) return <Empty title="These baselines have no numbers." />;
  // Percentiles are not listed, but can be asked for: step_time_p95.
  const metrics = baseline.metrics.includes(metric) ? baseline.metrics : [metric, ...baseline.metrics];
  return (
    <>
      <div class="toolbar history-bar">
        <label>
          Baseline
          <select
            value={baseline.name}
            onChange={(event) => setParams({ baseline: event.currentTarget.value, metric: undefined })}
          >
            {baselines.map((one) => (
              <option key={one.name} value={one.name}>
                {`${one.name} (${count(one.measurements)})`}
              </option>
            ))}
          </select>
        </label>
        <label>
          Metric
          <select value={metric} onChange={(event) => setParams({ metric: event.currentTarget.value })}>
            {metrics.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Shown baseline={baseline.name} metric={metric} />
    </>
  );
}

function Shown({ baseline, metric }: { baseline: string; metric: string }) {
  const loaded = useLoaded(JSON.stringify(["history", baseline, metric]), (signal) =>
    source.history(baseline, metric, signal),
  );
  return (
    <Await of={loaded}>
      {(of) => (
        <div class="history-page">
          <Card
            title={`${of.metric} of ${of.baseline}`}
            text="A point is the median over the runs of a measurement; its line reaches from the lowest run to the highest. The axis does not begin at zero. Horizontal lines are levels. A change of level counts if shuffling the measurements around it hardly ever finds one as good (p < 0.01)."
            note={noteOf(of)}
          >
            <HistoryChart of={of} />
            <Changes of={of} />
          </Card>
          <Card title="Measurements" note="newest first">
            <Measurements of={of} />
          </Card>
        </div>
      )}
    </Await>
  );
}

function noteOf({ points, left_out }: MetricHistory): string {
  const shown = many(points.length, "measurement");
  return left_out === 0
    ? shown
    : `${shown}; ${count(left_out)} left out: another machine, another way, or without the metric`;
}

/** Fewer have no levels. */
const MIN_POINTS = 6;

function Changes({ of }: { of: MetricHistory }) {
  if (of.changes.length === 0)
    return (
      <p class="quiet">
        {of.points.length < MIN_POINTS
          ? `${many(of.points.length, "measurement")}: too few to tell a change from noise; at least ${MIN_POINTS} are needed.`
          : "No change of level."}
      </p>
    );
  return (
    <ul class="history-changes">
      {of.changes.map((change) => (
        <li key={change.at} class={change.after > change.before ? "worse" : "better"}>
          <Icon name={change.after > change.before ? "warn" : "check"} size={14} /> <bdi>{change.sentence}</bdi>
        </li>
      ))}
    </ul>
  );
}

function Measurements({ of }: { of: MetricHistory }) {
  const changed = new Map(of.changes.map((change) => [change.at, change]));
  const rows = of.points.map((point, at) => ({ point, change: changed.get(at) })).reverse();
  return (
    <div class="history-scroll">
      <PlainTable
        label="Measurements"
        rows={rows}
        columns={[
          {
            label: "Measured",
            as: "text",
            cell: ({ point }) => point.measured_at.replace("T", " ").replace("Z", ""),
          },
          {
            label: "Commit",
            as: "text",
            class: "wrapped",
            cell: ({ point }) => (
              <>
                {point.commit && <code>{point.commit}</code>} <bdi>{point.subject}</bdi>
              </>
            ),
          },
          { label: of.metric, cell: ({ point }) => measured(of.unit, point.value) },
          { label: "Runs", cell: ({ point }) => count(point.runs) },
          {
            label: "Change",
            cell: ({ change }) =>
              change && (
                <span class={change.after > change.before ? "worse" : "better"}>
                  {signedPercent(change.after / change.before - 1)}
                </span>
              ),
          },
        ]}
      />
    </div>
  );
}

function signedPercent(share: number): string {
  return `${share < 0 ? "-" : "+"}${(Math.abs(share) * 100).toFixed(1)}%`;
}
