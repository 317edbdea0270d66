// More than two runs side by side: each with its numbers, held to the first.

import type { SideBySide } from "../../data/types.ts";
import type { ComparisonVerdict, SideRow } from "../../data/wire.ts";
import { Defined, definition } from "../../parts/figure.tsx";
import { bytes, digits, percent, time } from "../../parts/format.ts";
import { plainCount } from "../../parts/measured.ts";
import { Await, Card } from "../../parts/states.tsx";
import { source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { signedShare } from "./waterfall-chart.tsx";

export function AllRuns({ runs }: { runs: readonly number[] }) {
  const loaded = useLoaded(JSON.stringify(["side by side", runs]), (signal) => source.sideBySide(runs, signal));
  return <Await of={loaded}>{(of) => <Shown of={of} />}</Await>;
}

interface Column {
  field: keyof SideRow;
  label: string;
  cell: (row: SideRow) => string | undefined;
}

const some = <T,>(value: T | null, text: (value: T) => string) => (value === null ? undefined : text(value));

const COLUMNS: Column[] = [
  { field: "mean_ns", label: "Mean step", cell: (row) => time(row.mean_ns) },
  { field: "p95_ns", label: "p95", cell: (row) => time(row.p95_ns) },
  { field: "samples_per_step", label: "Samples/step", cell: (row) => some(row.samples_per_step, plainCount) },
  { field: "samples_per_s", label: "Samples/s", cell: (row) => some(row.samples_per_s, plainCount) },
  { field: "gpu_utilization", label: "GPU busy", cell: (row) => some(row.gpu_utilization, percent) },
  { field: "mfu", label: "MFU", cell: (row) => some(row.mfu, percent) },
  { field: "peak_allocated_bytes", label: "Peak memory", cell: (row) => some(row.peak_allocated_bytes, bytes) },
  {
    field: "energy_j_per_step",
    label: "Energy/step",
    cell: (row) => some(row.energy_j_per_step, (joules) => `${digits(joules)} J`),
  },
];

function Shown({ of }: { of: SideBySide }) {
  const text = (field: string) => definition(of.definitions, field);
  // What no run says has no column.
  const columns = COLUMNS.filter(({ cell }) => of.runs.some((row) => cell(row) !== undefined));
  return (
    <Card title="Side by side" note={`verdicts by the time ${of.by === "sample" ? "per sample" : "per step"}`}>
      <p class="compare-best">{of.sentence}</p>
      <div class="compare-scroll">
        <table class="plain compare" aria-label="Runs side by side">
          <thead>
            <tr>
              <th scope="col">Run</th>
              {columns.map(({ field, label }) => (
                <th scope="col" class="num" key={field}>
                  <Defined text={text(field)}>{label}</Defined>
                </th>
              ))}
              <th scope="col" class="num">
                <Defined text={text("ratio")}>Against the first</Defined>
              </th>
            </tr>
          </thead>
          <tbody>
            {of.runs.map((row) => (
              <tr key={row.run}>
                <th scope="row" class="label">
                  <bdi>{row.run}</bdi>
                </th>
                {columns.map(({ field, cell }) => (
                  <td class="num" key={field}>
                    {cell(row) ?? "–"}
                  </td>
                ))}
                <td class={`num ${row.verdict === null ? "quiet" : TONES[row.verdict]}`}>{judged(row)}</td>
              </tr>
            ))}
          </tbody>
        </table>
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
