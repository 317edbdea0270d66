// The result of a simulation: measured and predicted time, what is saved, step by step.

import { rowsOf } from "../../data/rows.ts";
import { Defined, definition, Figure, Share } from "../../parts/figure.tsx";
import { digits, percent, time } from "../../parts/format.ts";
import { stepName } from "../../parts/key-names.ts";
import { Card } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { readable } from "./plan.ts";
import type { ReplayedStep, WhatIf } from "./types.ts";

/** A replay whose own error is larger says little. */
const POOR = 0.05;

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
export function Unchanged({ answer }: { answer: WhatIf }) {
  const first = answer.what_if[0];
  return (
    <Card title="Step time">
      {first && first.measured_ns > 0 ? (
        <>
          <Bars rows={[{ label: "Measured", ns: first.measured_ns, class: "measured" }]} />
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
  return error > POOR ? `${off}. Treat predictions with care.` : `${off}.`;
}

export function Result({ answer }: { answer: WhatIf }) {
  const row = answer.what_if[0];
  if (!row) return <Unchanged answer={answer} />;
  const text = (field: string) => definition(answer.definitions, field);
  const tone = row.saves_ns > 0 ? "good" : row.saves_ns < 0 ? "bad" : undefined;
  return (
    <Card title="Predicted step time" text={text("predicted_ns")}>
      <p class="what-if-changes" title={readable(row.change)}>
        <bdi>{readable(row.change)}</bdi>
      </p>
      <Bars
        rows={[
          { label: "Measured", ns: row.measured_ns, class: "measured" },
          { label: "Predicted", ns: row.predicted_ns, class: "predicted" },
        ]}
      />
      <div class="figures" aria-live="polite">
        <Figure label="Saves" value={time(row.saves_ns)} text={text("saves_ns")} tone={tone} />
        <Figure label="Share of step" value={percent(row.saves_share)} text={text("saves_share")} tone={tone} />
        <Figure label="Speedup" value={`${digits(row.speedup)}×`} text={text("speedup")} />
        <Figure
          label="Slices changed"
          value={row.device_slices_changed.toLocaleString("en-US")}
          text={text("device_slices_changed")}
        />
      </div>
      {row.saves_ns === 0 && (
        <p class="side-note">No savings: other work takes at least as long in the meantime.</p>
      )}
      <p class={row.replay_error > POOR ? "side-note tone-bad" : "side-note"}>
        <Defined text={text("replay_error")}>{replayWords(row.replay_error)}</Defined>
      </p>
      {answer.steps.length > 1 && <Steps steps={answer.steps} />}
    </Card>
  );
}

function Steps({ steps }: { steps: ReplayedStep[] }) {
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
          cell: (s) => `${stepName(s.step)}${s.partial ? " (partial)" : ""}`,
        },
        { field: "measured_ns", label: "Measured" },
        { field: "replayed_ns", label: "Predicted" },
        { field: "saves_ns", label: "Saves", cell: (s) => time(s.measured_ns - s.replayed_ns) },
        {
          field: "share",
          label: "Share of step",
          width: "160px",
          cell: (s) => <Share share={(s.measured_ns - s.replayed_ns) / Math.max(1, s.measured_ns)} />,
        },
      ]}
    />
  );
}
