// What takes the place of an answer (a wait, a problem, nothing at all), and the card around one.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Problem } from "../data/types.ts";
import { Defined } from "./metric.tsx";

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

/** A sentence with `code` between backticks. */
export function Ticked({ text }: { text: string }) {
  const parts = text.split("`");
  // An odd number of parts: every tick has its partner.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
