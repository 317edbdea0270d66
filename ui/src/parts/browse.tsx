// A view that is one large table: bars above, then the tools (grouping, filter, columns, CSV), the rows page by page,
// and what they add up to below. The URL holds what is chosen: `by`, `sort`, `filter`, `cols`, `open`.

import type { ComponentChildren } from "preact";
import type { Rows } from "../data/rows.ts";
import type { Answer, Options, Problem } from "../data/types.ts";
import { param, setParams } from "../session/route.ts";
import { runId, source } from "../session/state.ts";
import { type ColumnChoice, ColumnMenu, named } from "./columns.tsx";
import { Filter } from "./filter.tsx";
import { byField, shortName } from "./format.ts";
import { Icon } from "./icons.tsx";
import type { Definitions } from "./metric.tsx";
import { Empty, Trouble } from "./states.tsx";
import { type Column, Table } from "./table.tsx";

/** The options of a table that the URL holds; the usual grouping is left out. */
export function browseOptions<G extends string>(by: G, usual: G): Options {
  return { by: by === usual ? undefined : by, sort: param("sort"), filter: param("filter") };
}

/** Changes what the table shows; the opened row belonged to the old one. */
export function changeTable(params: Record<string, string | number | undefined>): void {
  setParams({ ...params, open: undefined });
}

/** A column whose name and definition come with the answer. */
export type BrowseColumn<R> = Omit<Column<R>, "label"> & { label?: string };

interface Props<R> {
  view: string;
  /** What the bars above show, for those who cannot see them. */
  barsLabel: string;
  bars: ComponentChildren;
  /** Left of the filter, and right of it. */
  grouping: ComponentChildren;
  more?: ComponentChildren;
  table: {
    rows: Rows<R> | undefined;
    answer: Answer | undefined;
    problem: Problem | undefined;
    pending: boolean;
  };
  label: string;
  command: string;
  options: Options;
  choices: readonly ColumnChoice[];
  columns: BrowseColumn<R>[];
  /** What names and defines the columns, if not the answer as it is. */
  definitions?: Definitions;
  usualSort: string;
  /** Fields that sort as another one. */
  sortAs?: Record<string, string>;
  detail: (row: R) => ComponentChildren;
  /** Shown where there are no rows, and no filter is to blame. */
  empty: { title: string; hint: string; code: string };
  ledger: (rows: number) => ComponentChildren;
}

export function Browse<R>(props: Props<R>) {
  const { rows, answer, problem, pending } = props.table;
  // One name for a number, here and in the terminal's explanation.
  const definitions = props.definitions ?? answer?.definitions;
  const open = Number.parseInt(param("open") ?? "", 10);
  return (
    <div class="browse">
      <section class="card bars" aria-label={props.barsLabel}>
        {props.bars}
      </section>
      <div class="toolbar">
        {props.grouping}
        <Filter
          view={props.view}
          label="Filter by name"
          value={param("filter")}
          onChange={(filter) => changeTable({ filter })}
        />
        <span class="grow" />
        {props.more}
        <ColumnMenu
          all={named(props.choices, definitions)}
          value={param("cols")}
          onChange={(cols) => setParams({ cols })}
        />
        <Csv command={props.command} options={{ ...props.options, top: 0 }} />
      </div>
      {problem && <Trouble problem={problem} />}
      {rows ? (
        <div class={pending ? "browse-table stale" : "browse-table"}>
          <Table
            fill
            label={props.label}
            columns={named(props.columns, definitions)}
            rows={rows}
            sort={param("sort") ?? props.usualSort}
            onSort={(field) => changeTable({ sort: props.sortAs?.[field] ?? field })}
            open={Number.isNaN(open) ? undefined : open}
            onOpen={(_, index) => setParams({ open: index === open ? undefined : index })}
            detail={props.detail}
            empty={param("filter") === undefined ? <Empty {...props.empty} /> : <NoMatch />}
          />
        </div>
      ) : (
        !problem && <div class="skeleton browse-table" aria-busy="true" />
      )}
      {rows && props.ledger(rows.total)}
    </div>
  );
}

function NoMatch() {
  return (
    <Empty
      title="No rows match the filter."
      hint="The filter is a regular expression matched against full names."
    />
  );
}

function Csv({ command, options }: { command: string; options: Options }) {
  const url = runId.value === undefined ? undefined : source.csvUrl(runId.value, command, options);
  if (!url) return null;
  return (
    <a class="button" href={url} download>
      <Icon name="download" /> CSV
    </a>
  );
}

/** The name of a row: short, the whole of it in the title. */
export function NameCell({ name }: { name: string }) {
  return (
    <bdi class="mono-name" title={name}>
      {shortName(name)}
    </bdi>
  );
}

export const dash = <span class="quiet">–</span>;

/** A value by its field's ending; a dash where there is none. */
export function valueCell(field: string, value: unknown): ComponentChildren {
  return value === null || value === undefined || value === false ? dash : byField(field, value);
}
