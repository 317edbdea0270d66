// What a bar of the step chart says when pointed at.

import { count, percent, plain, time } from "../../../parts/format.ts";
import { PARTS } from "../types.ts";
import type { StepBar } from "./bins.ts";

function title(bar: StepBar): string {
  if (bar.steps > 1) return `Steps ${bar.first} to ${bar.last}`;
  return bar.first < 0 ? "Whole trace" : `Step ${bar.first}`;
}

/** The same in one sentence, for screen readers. */
export function barLabel(bar: StepBar): string {
  const parts = PARTS.filter(({ field }) => bar.parts[field] > 0).map(
    ({ field }) => `${plain(field)} ${time(bar.parts[field])}`,
  );
  const mean = bar.steps > 1 ? " on average" : "";
  const partial = bar.partial.length > 0 ? ", left out" : "";
  return `${title(bar)}: ${time(bar.wall_ns)}${mean}${partial}; ${parts.join(", ")}`;
}

export function BarTip({ bar, canChoose }: { bar: StepBar; canChoose: boolean }) {
  return (
    <div class="bar-tip">
      <strong>{title(bar)}</strong>
      <table>
        <tbody>
          {PARTS.filter(({ field }) => bar.parts[field] > 0).map(({ field, category }) => (
            <tr key={field}>
              <td>
                <span class={`swatch cat-${category}`} /> {plain(field)}
              </td>
              <td class="num">{time(bar.parts[field])}</td>
              <td class="num quiet">{percent(bar.parts[field] / bar.wall_ns)}</td>
            </tr>
          ))}
          <tr class="sum">
            <td>{bar.steps > 1 ? `Mean of ${count(bar.steps)}` : "Wall"}</td>
            <td class="num">{time(bar.wall_ns)}</td>
            <td />
          </tr>
          {bar.steps > 1 && (
            <tr>
              <td>Longest: step {bar.longest.step}</td>
              <td class="num">{time(bar.longest.wall_ns)}</td>
              <td />
            </tr>
          )}
        </tbody>
      </table>
      {bar.partial[0] && <p>Left out of averages: {bar.partial[0]}</p>}
      {canChoose && <p class="quiet">Click to show only {bar.steps > 1 ? "these steps" : "this step"}.</p>}
    </div>
  );
}
