// One row per function: where to choose from, and the numbers of the graph for those who cannot see it.

import { useMemo } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import { amount, count, percent, shortName, type Unit } from "../../parts/format.ts";
import { Bar } from "../../parts/metric.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { DEFINED } from "./labels.ts";
import type { FunctionRow } from "./sandwich.ts";

const SORTS = ["name", "self_ns", "total_ns", "count"] as const;
export type FunctionSort = (typeof SORTS)[number];

export function sortOf(text: string | undefined): FunctionSort {
  return SORTS.find((sort) => sort === text) ?? "self_ns";
}

/** The rows that hold a text, in order. */
export function arranged(rows: FunctionRow[], text: string, sort: FunctionSort): FunctionRow[] {
  const sought = text.trim().toLowerCase();
  const kept = sought === "" ? [...rows] : rows.filter((row) => row.name.toLowerCase().includes(sought));
  if (sort === "name") return kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return kept.sort((a, b) => b[sort] - a[sort] || b.total_ns - a.total_ns || a.id - b.id);
}

export function Functions(props: {
  /** What rows are called. */
  noun: { one: string; many: string };
  rows: FunctionRow[];
  /** All time, for the shares. */
  all: number;
  /** What times are. */
  unit: Unit;
  text: string;
  sort: FunctionSort;
  onSort: (sort: FunctionSort) => void;
  onOpen: (row: FunctionRow) => void;
  chosen?: number | undefined;
  /** Fewer columns. */
  narrow?: boolean;
  height?: number;
}) {
  const { all, chosen, narrow, unit } = props;
  const rows = useMemo(
    () => arranged(props.rows, props.text, props.sort),
    [props.rows, props.text, props.sort],
  );
  const largest = useMemo(() => props.rows.reduce((most, row) => Math.max(most, row.self_ns), 0), [props.rows]);
  const share = (ns: number) => percent(all > 0 ? ns / all : 0);
  const columns: Column<FunctionRow>[] = [
    {
      field: "name",
      label: props.noun.one,
      align: "left",
      cell: (row) => (
        <span class={row.id === chosen ? "flame-chosen" : undefined} title={row.name}>
          <span class={`swatch cat-${row.category}`} aria-hidden="true" />{" "}
          <bdi>{shortName(row.name).slice(0, 300)}</bdi>
        </span>
      ),
    },
    {
      field: "self_ns",
      label: "Self",
      text: DEFINED.self,
      width: narrow ? "88px" : "200px",
      cell: (row) =>
        narrow ? (
          amount(row.self_ns, unit)
        ) : (
          <span class="flame-self">
            <Bar share={largest > 0 ? row.self_ns / largest : 0} />
            {amount(row.self_ns, unit)}
          </span>
        ),
    },
    ...(narrow
      ? []
      : [
          {
            field: "self_share",
            label: "of total",
            text: DEFINED.ofAll,
            width: "76px",
            sortable: false,
            cell: (row: FunctionRow) => share(row.self_ns),
          },
        ]),
    {
      field: "total_ns",
      label: "Total",
      text: DEFINED.total,
      width: "88px",
      cell: (row) => amount(row.total_ns, unit),
    },
    ...(narrow
      ? []
      : [
          {
            field: "total_share",
            label: "of total",
            text: DEFINED.ofAll,
            width: "76px",
            sortable: false,
            cell: (row: FunctionRow) => share(row.total_ns),
          },
        ]),
    {
      field: "count",
      label: "Count",
      text: DEFINED.count,
      width: "76px",
      cell: (row) => (row.count > 0 ? count(row.count) : ""),
    },
  ];
  return (
    <Table
      label={props.noun.many}
      columns={columns}
      rows={rowsOf(rows)}
      sort={props.sort}
      onSort={(field) => props.onSort(sortOf(field))}
      onOpen={props.onOpen}
      height={props.height ?? 420}
      empty={<Empty title="No names match." />}
    />
  );
}
