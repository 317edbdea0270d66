// Numbers with their name, their definition and their bar.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Definition } from "../data/types.ts";
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

/** A share as a number with its bar: `12.3 % ▇▇`. `of` is the share that fills the bar. */
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
