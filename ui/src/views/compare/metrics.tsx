// What the step time alone does not say: other metrics of both runs, and findings that came, went or stayed.

import type { Diff } from "../../data/types.ts";
import type { FigureRow, FindingState } from "../../data/wire.ts";
import { Defined, definition } from "../../parts/figure.tsx";
import { digits, time } from "../../parts/format.ts";
import { measured } from "../../parts/measured.ts";
import { Card, Empty } from "../../parts/states.tsx";
import { signedShare } from "./waterfall-chart.tsx";

export function MetricsCard({ of }: { of: Diff }) {
  const text = (field: string) => definition(of.definitions, field);
  return (
    <Card title="Metrics" note="of the steps">
      <div class="compare-scroll">
        <table class="plain compare" aria-label="Metrics">
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col" class="num">
                <Defined text={text("before")}>Before</Defined>
              </th>
              <th scope="col" class="num">
                <Defined text={text("after")}>After</Defined>
              </th>
              <th scope="col" class="num">
                <Defined text={text("delta")}>Change</Defined>
              </th>
            </tr>
          </thead>
          <tbody>
            {of.figures.map((row) => (
              <tr key={row.figure}>
                <th scope="row" class="label">
                  {row.figure.charAt(0).toUpperCase() + row.figure.slice(1)}
                </th>
                <td class="num">{shown(row, row.before)}</td>
                <td class="num">{shown(row, row.after)}</td>
                <td class={`num ${metricTone(row)}`}>{metricChange(row)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function shown({ unit }: FigureRow, value: number | null): string {
  return value === null ? "–" : measured(unit, value);
}

/** In percent of what there was; shares in points. */
export function metricChange({ delta, before, unit }: FigureRow): string {
  if (delta === null) return "–";
  if (delta === 0) return "0";
  if (unit === "share") return `${delta > 0 ? "+" : "-"}${digits(Math.abs(delta) * 100)} points`;
  return before === null || before === 0 ? "–" : signedShare(delta / before);
}

/** Whether a change is for the better, where either is. */
export function metricTone({ delta, less_is_better }: FigureRow): string {
  if (delta === null || delta === 0 || less_is_better === null) return "quiet";
  return delta < 0 === less_is_better ? "better" : "worse";
}

const STATES: Record<FindingState, { word: string; tone: string }> = {
  new: { word: "new", tone: "worse" },
  gone: { word: "gone", tone: "better" },
  both: { word: "still there", tone: "quiet" },
};

export function FindingsCard({ of }: { of: Diff }) {
  const text = (field: string) => definition(of.definitions, field);
  return (
    <Card title="Findings" note="what appeared, what went away, what is still there">
      {of.findings.length === 0 ? (
        <Empty title="No findings in either run." />
      ) : (
        <div class="compare-scroll">
          <table class="plain compare" aria-label="Findings">
            <thead>
              <tr>
                <th scope="col">Finding</th>
                <th scope="col">What</th>
                <th scope="col" class="num">
                  <Defined text={text("before_saves_ns")}>Worth before</Defined>
                </th>
                <th scope="col" class="num">
                  <Defined text={text("after_saves_ns")}>Worth after</Defined>
                </th>
              </tr>
            </thead>
            <tbody>
              {of.findings.map((row, at) => (
                <tr key={at}>
                  <td class="wrapped">{row.title.replaceAll("`", "")}</td>
                  <td class={`state ${STATES[row.change].tone}`}>{STATES[row.change].word}</td>
                  <td class="num">{row.before_saves_ns === null ? "–" : time(row.before_saves_ns)}</td>
                  <td class="num">{row.after_saves_ns === null ? "–" : time(row.after_saves_ns)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
