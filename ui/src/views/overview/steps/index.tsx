// The steps of the run, as a chart or as a table.

import { rowsOf } from "../../../data/rows.ts";
import type { Definition } from "../../../data/types.ts";
import { Choice } from "../../../parts/choice.tsx";
import { count, time } from "../../../parts/format.ts";
import { definition, labelOf } from "../../../parts/metric.tsx";
import { Card, Empty } from "../../../parts/states.tsx";
import { type Column, defined, Table } from "../../../parts/table.tsx";
import { tipOn } from "../../../parts/tip.tsx";
import { param, pushParams, setParams } from "../../../session/route.ts";
import type { StepRow, StepsAnswer } from "../types.ts";
import { roof } from "./bar-scale.ts";
import { barsOf, isChosen, partsSeen, type StepBar, stepsText } from "./bins.ts";
import { Chart } from "./chart.tsx";

const RECORD_STEPS = `with torch.profiler.profile(...) as prof:
    for batch in loader:
        train(batch)
        prof.step()  # marks the end of a step`;

export function Steps({ of, definitions }: { of: StepsAnswer; definitions: Definition[] | undefined }) {
  const { steps } = of;
  const shape = param("steps") === "table" ? "table" : "chart";
  const choose = of.synthetic
    ? undefined
    : (bar: StepBar) =>
        pushParams({ step: isChosen(bar, param("step")) ? undefined : stepsText(bar), finding: undefined });
  return (
    <Card
      title={of.synthetic ? "Trace duration" : "Step time"}
      text={definition(definitions, "wall_ns")}
      class="steps"
      note={
        <Choice
          label="Show steps as"
          value={shape}
          options={[
            { value: "chart", name: "Chart" },
            { value: "table", name: "Table" },
          ]}
          onChange={(value) => setParams({ steps: value === "table" ? value : undefined })}
        />
      }
    >
      {shape === "chart" ? (
        <StepsChart of={of} definitions={definitions} choose={choose} />
      ) : (
        <StepsTable steps={steps} definitions={definitions} choose={choose} />
      )}
      {of.synthetic && <p class="card-note">No steps were recorded, so the whole trace counts as one.</p>}
      {of.found && <p class="card-note">No steps are marked: {of.found.sentence}.</p>}
    </Card>
  );
}

/** In place of everything else, where the file holds no work. */
export function NoSteps() {
  return (
    <Card title="How to record a run">
      <Empty
        title="This file contains no timed events."
        hint="Profile some work and mark its steps:"
        code={RECORD_STEPS}
      />
    </Card>
  );
}

type Choose = ((bar: StepBar) => void) | undefined;

function StepsChart(props: { of: StepsAnswer; definitions: Definition[] | undefined; choose: Choose }) {
  const { steps, average, synthetic } = props.of;
  const parts = partsSeen(steps);
  const hidden = new Set((param("hide") ?? "").split(",").filter((f) => parts.some((p) => p.field === f)));
  const bars = barsOf(steps);
  const whole = param("scale") === "whole";
  const cap = hidden.size === 0 ? roof(bars.map((bar) => bar.longest.wall_ns)) : undefined;
  const towering = steps.filter((step) => cap !== undefined && step.wall_ns > cap);
  const toggle = (field: string) => {
    const next = new Set(hidden);
    if (!next.delete(field)) next.add(field);
    setParams({ hide: [...next].join(",") || undefined });
  };
  return (
    <>
      <fieldset class="legend-buttons">
        <legend class="sr-only">Parts shown</legend>
        {parts.map(({ field, category }) => (
          <button
            key={field}
            type="button"
            aria-pressed={!hidden.has(field)}
            onClick={() => toggle(field)}
            {...tipOn(definition(props.definitions, field))}
          >
            <span class={`swatch cat-${category}`} /> {labelOf(props.definitions, field)}
          </button>
        ))}
        {!synthetic && average && (
          <span class="quiet legend-mean">
            <span class="mean-mark" /> mean {time(average.wall_ns)}
          </span>
        )}
      </fieldset>
      <Chart
        bars={bars}
        parts={parts}
        hidden={hidden}
        mean_ns={synthetic ? undefined : average?.wall_ns}
        whole={whole}
        chosen={synthetic ? undefined : param("step")}
        onChoose={props.choose}
      />
      <div class="card-note chart-notes">
        {bars.length < steps.length && (
          <p>
            {count(steps.length)} steps: each bar is the mean of {bars[0]?.steps} neighboring steps; the line
            above it marks the longest.
          </p>
        )}
        {towering.length > 0 && (
          <p>
            {toweringText(towering)}{" "}
            <button
              type="button"
              class="link"
              onClick={() => setParams({ scale: whole ? undefined : "whole" })}
            >
              {whole ? "Clip, so that the others can be read" : "Clipped here: show in full"}
            </button>
          </p>
        )}
        {steps.some((s) => s.partial) && (
          <p>
            Hatched steps are left out of averages: some of their work was not recorded, or they are pauses.
          </p>
        )}
      </div>
    </>
  );
}

function toweringText(steps: readonly StepRow[]): string {
  if (steps.length === 1) return `Step ${steps[0]?.step} took ${time(steps[0]?.wall_ns ?? 0)}.`;
  const longest = Math.max(...steps.map((step) => step.wall_ns));
  return `${count(steps.length)} steps are much longer than the rest; the longest took ${time(longest)}.`;
}

function StepsTable(props: { steps: StepRow[]; definitions: Definition[] | undefined; choose: Choose }) {
  const seen = partsSeen(props.steps);
  const columns: Column<StepRow>[] = [
    defined(props.definitions, "step", {
      align: "left",
      cell: (row) => (
        <>
          {row.step < 0 ? row.name : row.step}
          {row.partial && <span class="badge"> left out</span>}
        </>
      ),
    }),
    defined(props.definitions, "wall_ns"),
    ...seen.map(({ field }) => defined<StepRow>(props.definitions, field)),
    defined(props.definitions, "gpu_busy_ns"),
  ];
  return (
    <Table
      label="Steps"
      columns={columns}
      rows={rowsOf(props.steps)}
      height={300}
      {...(props.choose
        ? { onOpen: (row: StepRow) => props.choose?.(barsOf([row])[0] as StepBar) }
        : undefined)}
    />
  );
}
