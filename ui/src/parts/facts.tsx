// What is known of one thing: names on the left, values on the right.

import type { ComponentChildren } from "preact";
import { Defined, type Definitions, definition, labelOf } from "./metric.tsx";

/** A fact with its name and, one hover away, its definition; `false` is none. */
export type FactRow = readonly [label: string, value: ComponentChildren, text?: string | undefined] | false;

/** A fact under the name that the answer gives its field. */
export function factOf(of: Definitions, field: string, value: ComponentChildren): FactRow {
  return [labelOf(of, field), value, definition(of, field)];
}

/** One fact of a list whose facts lie side by side. */
export function Fact(props: { name: string; text?: string | undefined; children: ComponentChildren }) {
  return (
    <div>
      <dt>
        <Defined text={props.text}>{props.name}</Defined>
      </dt>
      <dd>{props.children}</dd>
    </div>
  );
}

export function Facts({ of, class: name = "detail-facts" }: { of: readonly FactRow[]; class?: string }) {
  return (
    <dl class={name}>
      {of
        .filter((fact) => fact !== false)
        .map(([label, value, text]) => [
          <dt key={label}>
            <Defined text={text}>{label}</Defined>
          </dt>,
          <dd key={`${label}:`}>{value}</dd>,
        ])}
    </dl>
  );
}
