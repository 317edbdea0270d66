// Did it help? The verdict, what it rests on, and what makes the two runs unlike.

import type { ComponentChildren } from "preact";
import type { DiffAnswer } from "../../data/types.ts";
import type { ComparisonVerdict, StepSide } from "../../data/wire.ts";
import { many, signedTime, time } from "../../parts/format.ts";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { Defined, definition, Label } from "../../parts/metric.tsx";
import { signedShare } from "./waterfall-chart.tsx";

const GRADES: Record<ComparisonVerdict, { word: string; icon: IconName }> = {
  faster: { word: "Faster", icon: "check" },
  slower: { word: "Slower", icon: "warn" },
  no_difference: { word: "No difference", icon: "info" },
  inconclusive: { word: "Not clear", icon: "info" },
};

/** `brief`: only what follows, where something else is looked at. */
export function Verdict({ of, brief }: { of: DiffAnswer; brief: boolean }) {
  const { judged } = of;
  // Few steps prove nothing, but where not a nanosecond differs nothing is unclear either.
  const isSame = of.delta_ns === 0 && of.rows.every((row) => row.change === "same");
  const { word, icon } = GRADES[isSame ? "no_difference" : judged.verdict];
  return (
    <section class={`card compare-verdict ${judged.verdict}`} aria-label="Verdict">
      <p class="compare-grade">
        <Icon name={icon} /> {word}
      </p>
      <p class="compare-sentence">{judged.sentence}</p>
      {!brief && <Reasons of={of} />}
    </section>
  );
}

/** Why, between which steps, and what to keep in mind. */
function Reasons({ of }: { of: DiffAnswer }) {
  const { judged, before, after, unlike } = of;
  const text = (field: string) => definition(of.definitions, field);
  return (
    <>
      {judged.because && <p>{judged.because}</p>}
      <dl class="compare-sides num">
        <Side name="Before" side={before} text={text("mean_ns")} />
        <Side name="After" side={after} text={text("mean_ns")} />
        <div>
          <dt>
            <Label of={of.definitions} field="delta_ns" />
          </dt>
          <dd>
            <b>{signedTime(of.delta_ns)}</b>
            <span class="quiet">
              {before.mean_ns > 0 && of.delta_ns !== 0 && signedShare(of.delta_ns / before.mean_ns)}
            </span>
          </dd>
        </div>
      </dl>
      {unlike.length > 0 && (
        <ul class="compare-notes">
          {unlike.map((note) => (
            <li key={note}>
              <Icon name="warn" size={14} /> {capital(note)}
            </li>
          ))}
        </ul>
      )}
      <p class="quiet small">
        {`${stepsOf(before)} before, ${stepsOf(after)} after; ${judged.rests_on}. Times come from recordings, so they include profiler overhead.`}
      </p>
    </>
  );
}

function Side({
  name,
  side,
  text,
}: {
  name: string;
  side: StepSide;
  text: string | undefined;
}): ComponentChildren {
  return (
    <div>
      <dt>
        <Defined text={text}>{name}</Defined>
      </dt>
      <dd>
        <b>{time(side.mean_ns)}</b>
        <span class="quiet">{`median ${time(side.p50_ns)}, p95 ${time(side.p95_ns)}`}</span>
      </dd>
    </div>
  );
}

function stepsOf({ steps, recordings }: StepSide): string {
  return `${many(steps, "step")} of ${many(recordings, "recording")}`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
