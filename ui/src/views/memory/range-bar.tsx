// Which range of the run the numbers are of: typed, chosen as a step, or all of it.

import { useEffect, useState } from "preact/hooks";
import { time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { showRange } from "../../parts/jump.tsx";
import type { Span } from "../../parts/span.ts";
import { param, pushParams } from "../../session/route.ts";
import type { StepRow } from "./curve.ts";
import { parseTime, spanOf } from "./curve.ts";

export function RangeBar(props: {
  span: Span | undefined;
  extent: number;
  steps: StepRow[];
  onSelect: (span: Span | undefined) => void;
}) {
  const { span, extent, steps } = props;
  const whole = { from: 0, to: extent };
  const shown = span ?? whole;
  return (
    <div class="toolbar mem-range-bar">
      <Moment
        label="From"
        value={shown.from}
        onChange={(from) => props.onSelect(spanOf(from, shown.to, extent))}
      />
      <Moment label="to" value={shown.to} onChange={(to) => props.onSelect(spanOf(shown.from, to, extent))} />
      {steps.length > 0 && (
        <label>
          Step
          <select
            value={param("step") ?? ""}
            onChange={(event) =>
              pushParams({ step: event.currentTarget.value || undefined, from: undefined, to: undefined })
            }
          >
            <option value="">{param("from") === undefined ? "all" : "–"}</option>
            {steps.map((step) => (
              <option key={step.start_ns} value={String(step.step)}>
                {step.step}
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="button" disabled={!span} onClick={() => props.onSelect(undefined)}>
        Whole run
      </button>
      <button type="button" disabled={!span} onClick={() => span && showRange(span.from, span.to)}>
        <Icon name="jump" size={14} /> Show on the timeline
      </button>
      <span class="quiet mem-hint">
        Drag across the chart, or press Shift with the arrow keys, to select a range.
      </span>
    </div>
  );
}

/** A moment as text; what cannot be read leaves it as it was. */
function Moment(props: { label: string; value: number; onChange: (at: number) => void }) {
  const written = props.value === 0 ? "0 ms" : time(props.value);
  const [text, setText] = useState(written);
  useEffect(() => setText(written), [written]);
  const parsed = parseTime(text);
  const take = () => {
    if (text === written) return;
    if (parsed === undefined) setText(written);
    else props.onChange(parsed);
  };
  return (
    <label>
      {props.label}
      <input
        type="text"
        class="mem-moment num"
        value={text}
        aria-invalid={parsed === undefined}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === "Enter") take();
        }}
      />
    </label>
  );
}
