// Small tables for the place below an opened row: a handful of rows, no scrolling.

import type { ComponentChildren } from "preact";
import type { Definitions } from "./metric.tsx";
import { type PlainColumns, PlainTable } from "./plain-table.tsx";
import { Await } from "./states.tsx";

export function Box(props: {
  title: string;
  note?: ComponentChildren;
  /** As high as two others beside it. */
  tall?: boolean | undefined;
  children: ComponentChildren;
}) {
  return (
    <section class={props.tall ? "detail-box tall" : "detail-box"}>
      <header>
        <h2>{props.title}</h2>
        {props.note && <span class="quiet">{props.note}</span>}
      </header>
      {props.children}
    </section>
  );
}

/** Rows shown at most; the rest is counted. */
const MAX_ROWS = 8;

/** A box whose rows are asked for when it is shown. */
export function MiniTable<T extends object, R extends object>(props: {
  title: string;
  of: Parameters<typeof Await<T>>[0]["of"];
  rows: (data: T) => R[];
  columns: PlainColumns<R>;
  tall?: boolean;
  empty: ComponentChildren;
}) {
  const { title, columns } = props;
  return (
    <Box title={title} tall={props.tall}>
      <Await of={props.of}>
        {(data) => {
          const rows = props.rows(data);
          if (rows.length === 0) return <p class="quiet">{props.empty}</p>;
          const of = "definitions" in data ? (data.definitions as Definitions) : undefined;
          return (
            <>
              <PlainTable label={title} columns={columns} rows={rows.slice(0, MAX_ROWS)} of={of} />
              {rows.length > MAX_ROWS && <p class="quiet and-more">and {rows.length - MAX_ROWS} more</p>}
            </>
          );
        }}
      </Await>
    </Box>
  );
}
