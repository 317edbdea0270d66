// Small parts that every view uses: figures with their definition, empty states, problems in place.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Definition, Problem } from "../data/types.ts";
import { percent } from "./format.ts";
import { tipOn } from "./tip.tsx";

/** A text with its explanation one hover or focus away. */
export function Defined({ text, children }: { text?: string | undefined; children: ComponentChildren }) {
  const id = useId();
  if (!text) return <>{children}</>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the definition must be reachable by keyboard
    <span class="defined" tabIndex={0} aria-describedby={id} {...tipOn(text)}>
      {children}
      <span id={id} hidden>
        {text}
      </span>
    </span>
  );
}

/** The definition of a field among those that came with an answer. */
export function definition(definitions: Definition[] | undefined, field: string): string | undefined {
  return definitions?.find((d) => d.field === field)?.text;
}

/** One large number with its name; a share also as a meter. */
export function Figure(props: {
  label: string;
  value: string;
  note?: ComponentChildren;
  text?: string | undefined;
  tone?: string | undefined;
  share?: number | undefined;
}) {
  return (
    <div class={`figure ${props.tone ?? ""}`}>
      <div class="figure-label">
        <Defined text={props.text}>{props.label}</Defined>
      </div>
      <div class="figure-value">{props.value}</div>
      {props.share !== undefined && <Meter share={props.share} />}
      {props.note && <div class="figure-note">{props.note}</div>}
    </div>
  );
}

/** A thin line filled by a share from 0 to 1; the number stands beside it. */
function Meter({ share }: { share: number }) {
  return (
    <div class="meter" aria-hidden="true">
      <span style={{ width: `${clamp(share) * 100}%` }} />
    </div>
  );
}

/** Nothing here, and what to record so that there is something. */
export function Empty({ title, hint, code }: { title: string; hint?: string; code?: string }) {
  return (
    <div class="empty" role="note">
      <p class="empty-title">{title}</p>
      {hint && <p>{hint}</p>}
      {code && <pre>{code}</pre>}
    </div>
  );
}

/** What went wrong, where the answer would have stood. */
export function Trouble({ problem }: { problem: Problem }) {
  return (
    <div class="trouble" role="alert">
      <p>{problem.message}</p>
      {problem.hint && <p class="hint">{problem.hint}</p>}
    </div>
  );
}

/** A card with a title. */
export function Card(props: {
  title: string;
  text?: string | undefined;
  note?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>
          <Defined text={props.text}>{props.title}</Defined>
        </h2>
        {props.note && <div class="card-note">{props.note}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Shows an answer, or that it is awaited, or why there is none. */
export function Await<T>(props: {
  of: { data: T | undefined; problem: Problem | undefined; pending: boolean };
  children: (data: T) => ComponentChildren;
}) {
  const { data, problem, pending } = props.of;
  if (problem) return <Trouble problem={problem} />;
  if (data === undefined) return <div class="skeleton" aria-busy="true" />;
  return <div class={pending ? "stale" : undefined}>{props.children(data)}</div>;
}

/** A bar in a cell: a share of the largest. */
export function Bar({ share, category }: { share: number; category?: number | undefined }) {
  return (
    <span class="bar" aria-hidden="true">
      <span
        class={`bar-fill ${category === undefined ? "" : `cat-${category}`}`}
        style={{ width: `${clamp(share) * 100}%` }}
      />
    </span>
  );
}

/** A share as a number with its bar: `12.3 % ▇▇`. `of` is the share that fills the bar. */
export function Share({ share, of = 1, category }: { share: number; of?: number; category?: number }) {
  return (
    <span class="share">
      {percent(share)} <Bar share={of > 0 ? share / of : 0} category={category} />
    </span>
  );
}

/** A sentence in which `code` stands between backticks. */
export function Ticked({ text }: { text: string }) {
  const parts = text.split("`");
  // An odd number of parts: every tick has its partner.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}

/** Few choices side by side, one of them taken. */
export function Choice<T extends string>(props: {
  label: string;
  options: readonly { value: T; name: string; text?: string }[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="sr-only">{props.label}</legend>
      {props.options.map(({ value, name, text }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
          {...(text ? tipOn(text) : {})}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}

function clamp(share: number): number {
  return Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
}
