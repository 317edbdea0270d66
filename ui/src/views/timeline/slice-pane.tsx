// All about one slice.

import { useState } from "preact/hooks";
import type { Details } from "../../data/types.ts";
import { CATEGORIES } from "../../data/wire.ts";
import { timeLabel } from "../../parts/charts/ticks.ts";
import { exactly } from "../../parts/filter.tsx";
import { count, flops, percent, time } from "../../parts/format.ts";
import { Defined } from "../../parts/metric.tsx";
import { go } from "../../session/route.ts";
import type { Controller } from "./controller.ts";
import { Arguments, Children, Links, Parents, PythonStack } from "./slice-parts.tsx";

interface Props {
  details: Details;
  of: number;
  controller: Controller;
}

const TEXTS = {
  self: "Time in this slice but not in slices nested inside it on the same lane.",
  flops: "Floating-point operations, as PyTorch's with_flops counts them.",
  start: "Time since the first event in the trace.",
};

export function SlicePane({ details, of, controller }: Props) {
  return (
    <article class="tl-slice">
      <Title details={details} of={of} controller={controller} />
      <div class="tl-columns">
        <div>
          <Facts details={details} />
          <Texts details={details} />
        </div>
        <div>
          <Links details={details} controller={controller} />
          <Parents details={details} controller={controller} />
          <Children details={details} />
        </div>
        <div>
          <PythonStack frames={details.stack} />
          <Arguments args={details.args} />
        </div>
      </div>
    </article>
  );
}

function Title({ details, of, controller }: Props) {
  return (
    <header class="tl-title">
      <span class={`swatch cat-${details.category}`} />
      <h2 title={details.name.slice(0, 5000)}>
        <bdi>{details.name}</bdi>
      </h2>
      {of > 1 && (
        <button
          type="button"
          class="tl-many"
          onClick={() => controller.actions.show(controller.actions.spanOf(details), 1.5)}
          title="Zoom in to see them separately"
        >
          {`1 of ${count(of)} here; zoom in`}
        </button>
      )}
      <span class="tl-grow" />
      {details.op !== null && (
        <button type="button" onClick={() => go("operators", { filter: exactly(details.name), open: 0 })}>
          Open in Operators
        </button>
      )}
      {details.kernel && (
        <button type="button" onClick={() => go("kernels", { filter: exactly(details.name), open: 0 })}>
          Open in Kernels
        </button>
      )}
      <button
        type="button"
        onClick={() => {
          controller.model.query.value = { text: details.name, exact: true };
        }}
      >
        Find all
      </button>
      <CopyButton text={() => JSON.stringify(details, null, 2)} />
    </header>
  );
}

function CopyButton({ text }: { text: () => string }) {
  const [said, say] = useState("Copy as JSON");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      say("Copied");
    } catch {
      say("Copying is not allowed here");
    }
    setTimeout(() => say("Copy as JSON"), 1500);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {said}
    </button>
  );
}

function Facts({ details }: { details: Details }) {
  const share = details.dur_ns > 0 ? ` (${percent(details.self_ns / details.dur_ns)})` : "";
  const digits = Math.max(1, details.dur_ns / 1000);
  const facts: [string, string | undefined, string | undefined][] = [
    ["Duration", undefined, details.dur_ns > 0 ? time(details.dur_ns) : "instant"],
    ["Self", TEXTS.self, details.dur_ns > 0 ? `${time(details.self_ns)}${share}` : undefined],
    ["Start", TEXTS.start, timeLabel(details.start_ns, digits, details.start_ns)],
    ["Lane", undefined, details.group],
    ["Step", undefined, details.step === null ? undefined : String(details.step)],
    ["Category", undefined, `${CATEGORIES[details.category] ?? ""} · ${details.cat}`],
    ["FLOPs", TEXTS.flops, details.flops ? rate(details.flops, details.dur_ns) : undefined],
  ];
  return (
    <dl class="tl-facts">
      {facts.map(
        ([label, text, value]) =>
          value !== undefined && (
            <div key={label}>
              <dt>
                <Defined text={text}>{label}</Defined>
              </dt>
              <dd class="num">
                <bdi>{value}</bdi>
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

function rate(operations: number, ns: number): string {
  const each = ns > 0 ? ` · ${flops((operations / ns) * 1e9)}/s` : "";
  return `${flops(operations)}${each}`;
}

function Texts({ details }: { details: Details }) {
  const texts = [
    ["Input shapes", details.shapes],
    ["Input types", details.types],
  ] as const;
  return (
    <>
      {texts.map(
        ([label, text]) =>
          text !== null && (
            <section key={label}>
              <h3>{label}</h3>
              <p class="mono tl-wrap">{text.slice(0, 4000)}</p>
            </section>
          ),
      )}
    </>
  );
}
