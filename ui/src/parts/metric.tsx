// Numbers with their name, their definition and their bar.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Definition } from "../data/types.ts";
import { percent, plain } from "./format.ts";
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

export type Definitions = readonly Definition[] | undefined;

/** The definition of a field among those that came with an answer. */
export function definition(definitions: Definitions, field: string): string | undefined {
  return definitions?.find((d) => d.field === field)?.text;
}

/** What an answer calls a field, here as in the terminal. */
export function labelOf(definitions: Definitions, field: string): string {
  return definitions?.find((d) => d.field === field)?.label ?? plain(field);
}

/** The name of a field with its definition one hover away. */
export function Label({ of, field }: { of: Definitions; field: string }) {
  return <Defined text={definition(of, field)}>{labelOf(of, field)}</Defined>;
}

/** One large number under the name and the definition of its field, or its own; a share also as a meter. */
export function Metric(props: {
  of?: Definitions;
  field?: string;
  label?: string;
  value: string;
  note?: ComponentChildren;
  text?: string | undefined;
  tone?: string | undefined;
  share?: number | undefined;
}) {
  const { of, field = "" } = props;
  return (
    <div class={`metric ${props.tone ?? ""}`}>
      <div class="metric-label">
        <Defined text={props.text ?? definition(of, field)}>{props.label ?? labelOf(of, field)}</Defined>
      </div>
      <div class="metric-value">{props.value}</div>
      {props.share !== undefined && <Meter share={props.share} />}
      {props.note && <div class="metric-note">{props.note}</div>}
    </div>
  );
}

/** A thin line filled by a share from 0 to 1; the number is beside it. */
function Meter({ share }: { share: number }) {
  return (
    <div class="meter" aria-hidden="true">
      <span style={{ width: `${clamp(share) * 100}%` }} />
    </div>
  );
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

/** A share as a number with its bar: `12.3% ▇▇`. `of` is the share that fills the bar. */
export function Share({ share, of = 1, category }: { share: number; of?: number; category?: number }) {
  return (
    <span class="share">
      {percent(share)} <Bar share={of > 0 ? share / of : 0} category={category} />
    </span>
  );
}

function clamp(share: number): number {
  return Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
}
