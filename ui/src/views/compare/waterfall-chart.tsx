// What made the difference: a bar for each cause, from the step before to the step after.

import type { DiffAnswer } from "../../data/types.ts";
import type { Cause } from "../../data/wire.ts";
import { many, percent, signedTime, time } from "../../parts/format.ts";
import { Defined, Label } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { tipOn } from "../../parts/tip.tsx";
import type { CauseWords } from "./cause-words.ts";
import { type Bar, shareOf, type Waterfall, waterfall } from "./waterfall.ts";

export function WaterfallCard({ of, words }: { of: DiffAnswer; words: CauseWords }) {
  const chart = waterfall(of.before.mean_ns, of.after.mean_ns, of.causes);
  return (
    <Card title="What made the difference" note={`per step, ${whoseTime(of)}`} class="waterfall-card">
      <table class="plain waterfall" aria-label="What made the difference">
        <thead>
          <tr>
            <th scope="col">Cause</th>
            <th scope="col" class="track">
              <span class="sr-only">Bar</span>
            </th>
            <th scope="col" class="num">
              <Label of={of.definitions} field="delta_ns" />
            </th>
            <th scope="col" class="num side">
              <Label of={of.definitions} field="before_ns" />
            </th>
            <th scope="col" class="num side">
              <Label of={of.definitions} field="after_ns" />
            </th>
          </tr>
        </thead>
        <tbody>
          {chart.bars.map((bar, at) => (
            <Line key={bar.causes[0] ?? bar.kind} bar={bar} chart={chart} of={of} words={words} at={at} />
          ))}
        </tbody>
      </table>
      <p class="quiet waterfall-note">
        <span class="swatch more" /> more time <span class="swatch less" /> less time
        {chart.low > 0 && <span>{`The axis starts at ${time(chart.low)}.`}</span>}
      </p>
    </Card>
  );
}

/** Whose time is divided: a device's, or that of the main thread where nothing ran on one. */
function whoseTime({ before, after }: DiffAnswer): string {
  const name = (device: number | null) => (device === null ? "the main thread" : `GPU ${device}`);
  const [one, other] = [name(before.device), name(after.device)];
  return one === other ? `on ${one}` : `on ${one} before and ${other} after`;
}

function Line(props: { bar: Bar; chart: Waterfall; of: DiffAnswer; words: CauseWords; at: number }) {
  const { bar, chart, of, words } = props;
  const isStep = bar.kind === "before" || bar.kind === "after";
  const name = nameOf(bar, words, chart.bars.length === 3);
  const text = bar.causes.length === 1 ? words.text(bar.causes[0] as Cause) : undefined;
  const last = props.at === chart.bars.length - 1;
  return (
    <tr class={isStep ? "whole" : undefined} data-kind={bar.kind} data-cause={bar.causes.join(" ")}>
      <th scope="row" class="label">
        <Defined text={text ?? (bar.kind === "others" ? listOf(bar, words) : undefined)}>{name}</Defined>
      </th>
      <td class="track">
        <span class="waterfall-track" {...tipOn(<Tip bar={bar} of={of} name={name} text={text} />)}>
          <BarMark bar={bar} chart={chart} />
          {!last && <span class="waterfall-link" style={{ left: `${shareOf(chart, bar.to) * 100}%` }} />}
        </span>
      </td>
      <td class={`num ${toneOf(bar.delta_ns)}`}>{isStep ? "" : signedTime(bar.delta_ns)}</td>
      <td class="num side">{bar.kind === "after" ? "" : amountOf(bar.before_ns)}</td>
      <td class="num side">{bar.kind === "before" ? "" : amountOf(bar.after_ns)}</td>
    </tr>
  );
}

function BarMark({ bar, chart }: { bar: Bar; chart: Waterfall }) {
  const [a, b] = [shareOf(chart, bar.from), shareOf(chart, bar.to)];
  if (bar.delta_ns === 0 && bar.causes.length > 0) return null;
  const kind = bar.kind === "before" || bar.kind === "after" ? "step" : bar.delta_ns > 0 ? "more" : "less";
  const cut = kind === "step" && chart.low > 0 ? " cut" : "";
  return (
    <span
      class={`waterfall-bar ${kind}${cut}`}
      aria-hidden="true"
      style={{ left: `${Math.min(a, b) * 100}%`, width: `${Math.abs(b - a) * 100}%` }}
    />
  );
}

function Tip({ bar, of, name, text }: { bar: Bar; of: DiffAnswer; name: string; text: string | undefined }) {
  if (bar.kind === "before" || bar.kind === "after") {
    const { mean_ns, p50_ns, p95_ns, steps } = bar.kind === "before" ? of.before : of.after;
    return (
      <>
        <strong>{name}</strong>
        <br />
        mean of {many(steps, "step")} {time(mean_ns)}, median {time(p50_ns)}, 95th percentile {time(p95_ns)}
      </>
    );
  }
  return (
    <>
      <strong>{name}</strong>
      <br />
      {amountOf(bar.before_ns)} before, {amountOf(bar.after_ns)} after: {signedTime(bar.delta_ns)} per step
      {of.before.mean_ns > 0 && `, ${signedShare(bar.delta_ns / of.before.mean_ns)} of the step before`}
      {text && (
        <>
          <br />
          <span class="quiet">{text}</span>
        </>
      )}
    </>
  );
}

function nameOf(bar: Bar, words: CauseWords, isAlone: boolean): string {
  if (bar.kind === "before") return "Step before";
  if (bar.kind === "after") return "Step after";
  if (bar.kind === "others") {
    const others = `${bar.causes.length}${isAlone ? "" : " other"} causes`;
    return bar.delta_ns === 0 && isAlone ? `${others}, unchanged` : others;
  }
  return words.label(bar.causes[0] as Cause);
}

function listOf(bar: Bar, words: CauseWords): string {
  return `${bar.delta_ns === 0 ? "" : "Changed little: "}${bar.causes.map((cause) => words.label(cause)).join(", ")}.`;
}

/** More time is bad, less is good. */
export function toneOf(delta: number): string {
  return delta > 0 ? "worse" : delta < 0 ? "better" : "quiet";
}

export function amountOf(ns: number): string {
  return ns === 0 ? "–" : time(ns);
}

export function signedShare(share: number): string {
  return share > 0 ? `+${percent(share)}` : percent(share);
}
