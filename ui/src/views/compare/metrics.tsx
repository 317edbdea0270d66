// What the step time alone does not say: other metrics of both runs, and findings that came, went or stayed.

import type { DiffAnswer } from "../../data/types.ts";
import type { FindingState, MetricRow } from "../../data/wire.ts";
import { digits } from "../../parts/format.ts";
import { measured } from "../../parts/measured.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { signedShare } from "./waterfall-chart.tsx";

export function MetricsCard({ of }: { of: DiffAnswer }) {
  return (
    <Card title="Metrics" note="of the steps">
      <div class="compare-scroll">
        <PlainTable
          label="Metrics"
          class="compare"
          of={of.definitions}
          rows={of.metrics}
          columns={[
            {
              label: "Metric",
              as: "row",
              cell: ({ metric }) => metric.charAt(0).toUpperCase() + metric.slice(1),
            },
            { field: "before", cell: (row) => shown(row, row.before) },
            { field: "after", cell: (row) => shown(row, row.after) },
            { field: "delta", cell: (row) => <span class={metricTone(row)}>{metricChange(row)}</span> },
          ]}
        />
      </div>
    </Card>
  );
}

function shown({ unit }: MetricRow, value: number | null): string {
  return value === null ? "–" : measured(unit, value);
}

/** In percent of what there was; shares in points. */
export function metricChange({ delta, before, unit }: MetricRow): string {
  if (delta === null) return "–";
  if (delta === 0) return "0";
  if (unit === "share") return `${delta > 0 ? "+" : "-"}${digits(Math.abs(delta) * 100)} points`;
  return before === null || before === 0 ? "–" : signedShare(delta / before);
}

/** Whether a change is for the better, where either is. */
export function metricTone({ delta, less_is_better }: MetricRow): string {
  if (delta === null || delta === 0 || less_is_better === null) return "quiet";
  return delta < 0 === less_is_better ? "better" : "worse";
}

const STATES: Record<FindingState, { word: string; tone: string }> = {
  new: { word: "new", tone: "worse" },
  gone: { word: "gone", tone: "better" },
  both: { word: "still there", tone: "quiet" },
};

export function FindingsCard({ of }: { of: DiffAnswer }) {
  return (
    <Card title="Findings" note="what appeared, what went away, what is still there">
      {of.findings.length === 0 ? (
        <Empty title="No findings in either run." />
      ) : (
        <div class="compare-scroll">
          <PlainTable
            label="Findings"
            class="compare"
            of={of.definitions}
            rows={of.findings}
            columns={[
              { label: "Finding", as: "text", class: "wrapped", cell: (row) => row.title.replaceAll("`", "") },
              {
                label: "What",
                as: "text",
                class: "state",
                cell: ({ change }) => <span class={STATES[change].tone}>{STATES[change].word}</span>,
              },
              "before_saves_ns",
              "after_saves_ns",
            ]}
          />
        </div>
      )}
    </Card>
  );
}
