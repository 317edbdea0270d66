// A table of a few rows, none of them hidden: its columns once, heads and cells from them.

import type { ComponentChildren } from "preact";
import { valueCell } from "./browse.tsx";
import { Defined, type Definitions, definition, labelOf } from "./metric.tsx";
import { SourceLink } from "./source-link.tsx";

/** How head and cells are classed: numbers are on the right. */
const CLASSES = {
  number: ["num", "num"],
  text: [undefined, undefined],
  name: [undefined, "name"],
  place: ["hot-place", "hot-place quiet"],
  /** The head of its row. */
  row: [undefined, "label"],
} as const;

export interface PlainColumn<R> {
  /** The field of the answer that names and defines the column, unless it has a label or text of its own. */
  field?: keyof R & string;
  label?: string;
  text?: string | undefined;
  as?: keyof typeof CLASSES;
  /** A class of both head and cells. */
  class?: string;
  /** How a cell looks; by the field's ending if left out. */
  cell?: (row: R, at: number) => ComponentChildren;
}

/** A field alone is a column of numbers; `false` is none. */
export type PlainColumns<R> = readonly (PlainColumn<R> | (keyof R & string) | false)[];

export function PlainTable<R extends object>(props: {
  label: string;
  columns: PlainColumns<R>;
  rows: readonly R[];
  of?: Definitions;
  class?: string;
  rowClass?: (row: R) => string | undefined;
}) {
  const columns = props.columns
    .filter((column) => column !== false)
    .map((column) => {
      const {
        field,
        as = "number",
        ...rest
      }: PlainColumn<R> = typeof column === "string" ? { field: column } : column;
      const [head, cells] = CLASSES[as].map((one) => [one, rest.class].filter(Boolean).join(" ") || undefined);
      return {
        ...rest,
        as: as === "row" ? ("th" as const) : ("td" as const),
        head,
        cells,
        label: rest.label ?? labelOf(props.of, field ?? ""),
        text: rest.text ?? (field && definition(props.of, field)),
        cell: rest.cell ?? ((row: R) => field && valueCell(field, row[field])),
      };
    });
  return (
    <table class={props.class ? `plain ${props.class}` : "plain"} aria-label={props.label}>
      <thead>
        <tr>
          {columns.map(({ head, label, text }, at) => (
            <th key={at} scope="col" class={head}>
              <Defined text={text}>{label}</Defined>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {props.rows.map((row, at) => (
          <tr key={at} class={props.rowClass?.(row)}>
            {columns.map(({ cells, cell, as: Cell }, place) => (
              <Cell key={place} class={cells} {...(Cell === "th" ? { scope: "row" } : {})}>
                {cell(row, at)}
              </Cell>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The function that a row is about. */
export function functionColumn<R extends { function: string }>(label = "Function"): PlainColumn<R> {
  return { label, as: "name", cell: (row) => <bdi>{row.function}</bdi> };
}

/** Where that is, as a link to its source. */
export function placeColumn<R extends { file: string; line: number }>(): PlainColumn<R> {
  const cell = (row: R) => row.file && <SourceLink file={row.file} line={row.line || null} />;
  return { label: "Where", as: "place", cell };
}
