// The result of a simulation: measured and predicted time, what is saved, step by step.

import { rowsOf } from "../../data/rows.ts";
import { MAX_REPLAY_ERROR, type ReplayedStep, type WhatIfAnswer } from "../../data/wire.ts";
import { count, digits, percent, time } from "../../parts/format.ts";
import { stepName } from "../../parts/key-names.ts";
import { Defined, type Definitions, definition, labelOf, Metric, Share } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { defined, Table } from "../../parts/table.tsx";
import { readable } from "./plan.ts";

function Bars({ rows }: { rows: { label: string; ns: number; class: string }[] }) {
  const longest = Math.max(1, ...rows.map((row) => row.ns));
  return (
    <div class="versus">
      {rows.map((row) => (
        <div key={row.label}>
          <span class="quiet">{row.label}</span>
          <span class="versus-bar" aria-hidden="true">
            <span class={row.class} style={{ width: `${(row.ns / longest) * 100}%` }} />
          </span>
          <strong class="num">{time(row.ns)}</strong>
        </div>
      ))}
    </div>
  );
}

/** No change yet: the step as measured. */
export function Unchanged({ answer }: { answer: WhatIfAnswer }) {
  const first = answer.what_if[0];
  return (
    <Card title="Step time">
      {first && first.measured_ns > 0 ? (
        <>
          <Bars
            rows={[
              { label: labelOf(answer.definitions, "measured_ns"), ns: first.measured_ns, class: "measured" },
            ]}
          />
          <p class="quiet">Select changes to simulate the run with them. {replayWords(first.replay_error)}</p>
        </>
      ) : (
        <p class="quiet">Nothing to simulate: nothing was recorded in these steps.</p>
      )}
    </Card>
  );
}

function replayWords(error: number): string {
  if (error === 0) return "Without changes, the simulation reproduces the measured time exactly.";
  const off = `Without changes, the simulation is ${percent(error)} off the measured time`;
  return error > MAX_REPLAY_ERROR ? `${off}. Treat predictions with care.` : `${off}.`;
}

export function Result({ answer }: { answer: WhatIfAnswer }) {
  const row = answer.what_if[0];
  if (!row) return <Unchanged answer={answer} />;
  const of = answer.definitions;
  const tone = row.saves_ns > 0 ? "good" : row.saves_ns < 0 ? "bad" : undefined;
  return (
    <Card title="Predicted step time" text={definition(of, "predicted_ns")}>
      <p class="what-if-changes" title={readable(row.change)}>
        <bdi>{readable(row.change)}</bdi>
      </p>
      <Bars
        rows={[
          { label: labelOf(of, "measured_ns"), ns: row.measured_ns, class: "measured" },
          { label: labelOf(of, "predicted_ns"), ns: row.predicted_ns, class: "predicted" },
        ]}
      />
      <div class="metrics" aria-live="polite">
        <Metric of={of} field="saves_ns" value={time(row.saves_ns)} tone={tone} />
        <Metric of={of} field="saves_share" value={percent(row.saves_share)} tone={tone} />
        <Metric of={of} field="speedup" value={`${digits(row.speedup)}×`} />
        <Metric of={of} field="device_slices_changed" value={count(row.device_slices_changed)} />
      </div>
      {row.saves_ns === 0 && (
        <p class="side-note">No savings: other work takes at least as long in the meantime.</p>
      )}
      <p class={row.replay_error > MAX_REPLAY_ERROR ? "side-note tone-bad" : "side-note"}>
        <Defined text={definition(of, "replay_error")}>{replayWords(row.replay_error)}</Defined>
      </p>
      {answer.steps.length > 1 && <Steps steps={answer.steps} of={of} />}
    </Card>
  );
}

function Steps({ steps, of }: { steps: ReplayedStep[]; of: Definitions }) {
  return (
    <Table
      label="Per step"
      height={220}
      rows={rowsOf(steps)}
      columns={[
        {
          field: "step",
          label: "Step",
          width: "90px",
          cell: (s) => `${stepName(s.step)}${s.partial ? " (left out)" : ""}`,
        },
        defined(of, "measured_ns"),
        defined(of, "replayed_ns"),
        { field: "saves_ns", label: labelOf(of, "saves_ns"), cell: (s) => time(s.measured_ns - s.replayed_ns) },
        {
          field: "share",
          label: labelOf(of, "saves_share"),
          width: "160px",
          cell: (s) => <Share share={(s.measured_ns - s.replayed_ns) / Math.max(1, s.measured_ns)} />,
        },
      ]}
    />
  );
}
