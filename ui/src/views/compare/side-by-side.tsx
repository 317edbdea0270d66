// More than two runs side by side: each with its numbers, held to the first.

import type { SideBySide } from "../../data/types.ts";
import type { ComparisonVerdict, SideRow } from "../../data/wire.ts";
import { bytes, digits, percent, time } from "../../parts/format.ts";
import { plainCount } from "../../parts/measured.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { signedShare } from "./waterfall-chart.tsx";

export function AllRuns({ runs }: { runs: readonly number[] }) {
  const loaded = useLoaded(JSON.stringify(["side by side", runs]), (signal) => source.sideBySide(runs, signal));
  return <Await of={loaded}>{(of) => <Shown of={of} />}</Await>;
}

type Value = [field: keyof SideRow, cell: (row: SideRow) => string | undefined];

const some = <T,>(value: T | null, text: (value: T) => string) => (value === null ? undefined : text(value));

const VALUES: Value[] = [
  ["mean_ns", (row) => time(row.mean_ns)],
  ["p95_ns", (row) => time(row.p95_ns)],
  ["samples_per_step", (row) => some(row.samples_per_step, plainCount)],
  ["samples_per_s", (row) => some(row.samples_per_s, plainCount)],
  ["gpu_utilization", (row) => some(row.gpu_utilization, percent)],
  ["mfu", (row) => some(row.mfu, percent)],
  ["peak_allocated_bytes", (row) => some(row.peak_allocated_bytes, bytes)],
  ["energy_j_per_step", (row) => some(row.energy_j_per_step, (joules) => `${digits(joules)} J`)],
];

function Shown({ of }: { of: SideBySide }) {
  // What no run says has no column.
  const values = VALUES.filter(([, cell]) => of.runs.some((row) => cell(row) !== undefined));
  return (
    <Card title="Side by side" note={`verdicts by the time ${of.by === "sample" ? "per sample" : "per step"}`}>
      <p class="compare-best">{of.sentence}</p>
      <div class="compare-scroll">
        <PlainTable
          label="Runs side by side"
          class="compare"
          of={of.definitions}
          rows={of.runs}
          columns={[
            { label: "Run", as: "row", cell: (row) => <bdi>{row.run}</bdi> },
            ...values.map(([field, cell]) => ({ field, cell: (row: SideRow) => cell(row) ?? "–" })),
            {
              field: "ratio",
              cell: (row) => (
                <span class={row.verdict === null ? "quiet" : TONES[row.verdict]}>{judged(row)}</span>
              ),
            },
          ]}
        />
      </div>
      {of.by === "step" && (
        <p class="quiet small">
          Samples/s is unknown: not every run says how many samples its steps have (call step(samples=64)). If
          they differ, steps do not compare.
        </p>
      )}
    </Card>
  );
}

const TONES: Record<ComparisonVerdict, string> = {
  faster: "better",
  slower: "worse",
  no_difference: "quiet",
  inconclusive: "quiet",
};

/** `1.90x faster (-49.0% to -45.0%)`. */
export function judged({ verdict, ratio, low, high }: SideRow): string {
  if (verdict === null) return "base";
  const range = low === null || high === null ? "" : ` (${signedShare(low - 1)} to ${signedShare(high - 1)})`;
  if (verdict === "no_difference") return `no difference${range}`;
  if (verdict === "inconclusive" || ratio === null || ratio <= 0) return `not clear${range}`;
  const times = verdict === "faster" ? 1 / ratio : ratio;
  const by = times >= 1.1 ? `${times.toFixed(2)}x` : percent(times - 1);
  return `${by} ${verdict}${range}`;
}
