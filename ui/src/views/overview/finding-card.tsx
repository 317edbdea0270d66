// One finding: what costs how much, and on demand why, what to change, how to check, and where it shows.

import { useId } from "preact/hooks";
import { percent, shortName, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { JumpButton, showRange, showSlice } from "../../parts/jump.tsx";
import { Defined } from "../../parts/metric.tsx";
import { placeOf, SourceLink } from "../../parts/source-link.tsx";
import { Ticked } from "../../parts/states.tsx";
import { amount } from "./findings.ts";
import type { Finding } from "./types.ts";
import { firstChange, saving } from "./words.ts";

const ESTIMATES: Record<Finding["estimate"], string> = {
  replay: "simulated",
  model: "modeled",
  upper_bound: "upper bound",
  none: "",
};

export function FindingCard(props: {
  finding: Finding;
  /** Whether the step without the profiler was timed. */
  measured: boolean;
  text: (field: string) => string | undefined;
  open: boolean;
  onToggle: () => void;
}) {
  const { finding, text } = props;
  const id = useId();
  const { here, bare } = saving(finding, props.measured);
  const place = finding.source ? placeOf(finding.source) : undefined;
  const change = finding.code ? firstChange(finding.code) : undefined;
  return (
    <article class={`finding ${finding.severity}`} aria-labelledby={`${id}-title`}>
      <header>
        <span class="severity">
          <Defined text={text("severity")}>{finding.severity}</Defined>
        </span>
        <h3 id={`${id}-title`}>
          <button type="button" aria-expanded={props.open} aria-controls={id} onClick={props.onToggle}>
            <Icon name="chevron" size={14} />
            <span>{finding.title}</span>
          </button>
        </h3>
        {finding.measured_text !== null && (
          <p class="saves">
            <Defined text={text("measured")}>{finding.measured_text}</Defined>
          </p>
        )}
        {finding.saves_ns === null && finding.saves_share !== null && (
          <p class="saves">
            <Defined text={text("saves_share")}>saves</Defined> at most <b>{percent(finding.saves_share)}</b> of
            the samples
          </p>
        )}
        {(here || bare) && (
          <p class="saves">
            <Defined text={text("saves_ns")}>saves</Defined> {finding.estimate === "upper_bound" && "at most "}
            {here && <b>{here}</b>}
            {here && bare && " here, "}
            {bare && (
              <>
                <Defined text={text("saves_unprofiled_ns")}>about</Defined> {here ? bare : <b>{bare}</b>}
              </>
            )}
          </p>
        )}
        {change && !props.open && (
          <p class="change">
            <code>{change}</code>
          </p>
        )}
        <p class="quiet sure">
          {finding.estimate !== "none" && (
            <>
              <Defined text={text("estimate")}>{ESTIMATES[finding.estimate]}</Defined>,{" "}
            </>
          )}
          <Defined text={text("confidence")}>{finding.confidence} confidence</Defined>
        </p>
      </header>
      {props.open && (
        <div class="finding-body" id={id}>
          <div class="finding-words">
            <Paragraph title="Why" text={finding.why} />
            <Paragraph title="What to change" text={finding.fix} />
            {finding.code && <pre>{finding.code}</pre>}
            <Paragraph title="How to verify" text={finding.verify} />
          </div>
          <div class="finding-proof">
            <h4>Evidence</h4>
            <dl class="evidence">
              {finding.evidence.map((e) => (
                <div key={e.label}>
                  <dt>
                    <Defined text={e.definition}>{e.label}</Defined>
                  </dt>
                  <dd title={e.value.unit === "text" ? e.value.value : undefined}>
                    <bdi>{amount(e.value)}</bdi>
                  </dd>
                </div>
              ))}
            </dl>
            {finding.source && (
              <p class="source">
                <Defined text={text("source")}>Source</Defined> <code>{finding.source}</code>{" "}
                {place && <SourceLink {...place} />}
              </p>
            )}
            <Shows finding={finding} />
          </div>
        </div>
      )}
    </article>
  );
}

function Paragraph({ title, text }: { title: string; text: string }) {
  return (
    <>
      <h4>{title}</h4>
      <p>
        <Ticked text={text} />
      </p>
    </>
  );
}

/** Where it shows: a stretch of time, or the slices that are the plainest examples. */
function Shows({ finding }: { finding: Finding }) {
  const { range_ns, slices } = finding;
  const first = slices[0];
  if (!range_ns && !first) return null;
  const show = () => {
    if (first) showSlice({ ...first, id: first.slice });
    else if (range_ns) showRange(...range_ns);
  };
  return (
    <div class="shows">
      <button type="button" class="primary" onClick={show}>
        <Icon name="jump" /> Show on the timeline
      </button>
      {slices.length > 1 && (
        <ul>
          {slices.map((s) => (
            <li key={s.slice}>
              <JumpButton place={{ ...s, id: s.slice }} />
              <bdi title={s.name}>{shortName(s.name)}</bdi>
              <span class="quiet num">{time(s.dur_ns)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
