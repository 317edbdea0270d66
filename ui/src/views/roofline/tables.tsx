// Model FLOPs utilization per step, and the device work that has no cost model.

import { rowsOf } from "../../data/rows.ts";
import type { RooflineAnswer } from "../../data/wire.ts";
import { StepColumns } from "../../parts/charts/step-columns.tsx";
import { percent, shortName, time } from "../../parts/format.ts";
import { REASONS, stepTitle, word } from "../../parts/key-names.ts";
import { Name } from "../../parts/links.tsx";
import { Defined, definition, Label } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { defined, Table } from "../../parts/table.tsx";

export function Mfu({ answer }: { answer: RooflineAnswer }) {
  const steps = answer.steps.filter((step) => step.mfu !== null);
  if (steps.length < 2) return null;
  const top = Math.max(0.001, ...steps.map((step) => Math.max(step.mfu ?? 0, step.hfu ?? 0))) * 1.1;
  const partial = steps.filter((step) => step.partial).length;
  const recomputes = steps.some((step) => (step.hfu ?? 0) > (step.mfu ?? 0));
  return (
    <Card
      title="MFU per step"
      text={definition(answer.definitions, "mfu")}
      note={partial > 0 ? `${partial} left out of the mean` : undefined}
    >
      <StepColumns
        name="Model FLOPs utilization per step"
        top={top}
        columns={steps.map((step) => ({
          step: step.step,
          whole: 0,
          parts: [step.mfu ?? 0, Math.max(0, (step.hfu ?? 0) - (step.mfu ?? 0))],
          note: `${stepTitle(step.step)}: MFU ${percent(step.mfu ?? 0)}, HFU ${percent(step.hfu ?? 0)} in ${time(step.wall_ns)}${step.partial ? " (left out)" : ""}`,
        }))}
        classes={["fill-5", "pale-fill hue-5"]}
        format={percent}
      />
      <ul class="legend chart-legend">
        <li>
          <span class="swatch cat-5" /> <Label of={answer.definitions} field="mfu" />
        </li>
        {recomputes && (
          <li>
            <span class="swatch pale-fill hue-5" />{" "}
            <Defined text={definition(answer.definitions, "hfu")}>recomputed: HFU above MFU</Defined>
          </li>
        )}
      </ul>
    </Card>
  );
}

export function Unmodeled({ answer }: { answer: RooflineAnswer }) {
  const rows = answer.unmodeled;
  if (rows.length === 0) return null;
  const all = rows.reduce((sum, row) => sum + row.device_ns, 0);
  const share = all / Math.max(1, answer.totals.device_ns);
  return (
    <Card
      title="Device work without a cost model"
      text="Work whose FLOPs and bytes are unknown. It is included in neither the plot nor MFU."
      note={`${time(all)}, ${percent(share)} of device time`}
    >
      <Table
        label="Device work without a cost model"
        height={260}
        rows={rowsOf(rows)}
        columns={[
          {
            field: "name",
            label: "Operator or kernel",
            align: "left",
            cell: (row) => <Name name={row.name} short={shortName(row.name)} />,
          },
          {
            field: "reason",
            label: "Reason",
            width: "124px",
            cell: (row) => <span title={REASONS[row.reason]}>{word(row.reason)}</span>,
          },
          defined(answer.definitions, "kernels", { width: "80px" }),
          defined(answer.definitions, "device_ns", { width: "100px" }),
          defined(answer.definitions, "share", { width: "76px" }),
        ]}
      />
    </Card>
  );
}
