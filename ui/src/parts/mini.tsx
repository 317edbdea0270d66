// Small tables for the place below an opened row: a handful of rows, no scrolling.

import type { ComponentChildren } from "preact";
import { Await } from "./states.tsx";

export interface MiniColumn<R> {
  label: string;
  /** Texts take the room there is; numbers are aligned right. */
  wide?: boolean;
  cell: (row: R) => ComponentChildren;
}

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

/** A box whose rows are asked for when it is shown. */
export function MiniTable<T, R>(props: {
  title: string;
  of: Parameters<typeof Await<T>>[0]["of"];
  rows: (data: T) => R[];
  /** Shown this many, the rest counted. */
  most?: number;
  columns: MiniColumn<R>[];
  tall?: boolean;
  empty: ComponentChildren;
}) {
  const most = props.most ?? 8;
  return (
    <Box title={props.title} tall={props.tall}>
      <Await of={props.of}>
        {(data) => {
          const rows = props.rows(data);
          if (rows.length === 0) return <p class="quiet">{props.empty}</p>;
          return (
            <>
              <table class="plain" aria-label={props.title}>
                <thead>
                  <tr>
                    {props.columns.map((c) => (
                      <th key={c.label} scope="col" class={c.wide ? undefined : "num"}>
                        {c.label}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {rows.slice(0, most).map((row, at) => (
                    <tr key={at}>
                      {props.columns.map((c) => (
                        <td key={c.label} class={c.wide ? "name" : "num"}>
                          {c.cell(row)}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
              {rows.length > most && <p class="quiet and-more">and {rows.length - most} more</p>}
            </>
          );
        }}
      </Await>
    </Box>
  );
}
