// The columns of the kernel table: which there are by grouping, how their cells look.

import { type CopyRow, GROUPINGS, type KernelRow } from "../../data/wire.ts";
import { type BrowseColumn, dash, NameCell, valueCell } from "../../parts/browse.tsx";
import type { ColumnChoice } from "../../parts/columns.tsx";
import { digits, shortName } from "../../parts/format.ts";
import { Share } from "../../parts/metric.tsx";

export const GROUPS = GROUPINGS.kernels;
export type Group = (typeof GROUPS)[number];

/** Kernels and copies share a table; what one of them lacks is absent. */
export type Row = Pick<KernelRow, "name" | "calls" | "total_ns"> & Partial<KernelRow> & Partial<CopyRow>;

const FIELDS = [
  ...["name", "op", "grid", "block", "registers", "shared_memory_bytes", "devices", "streams", "kind", "calls"],
  ...["total_ns", "share", "bytes", "bytes_per_second", "calls_with_bytes", "mean_ns", "min_ns", "max_ns"],
  ...["blocks_per_sm", "occupancy_percent", "tensor_core"],
];

const OF_KERNELS = ["share", "blocks_per_sm", "occupancy_percent", "tensor_core", "devices", "streams"];
const OF_COPIES = ["kind", "bytes", "bytes_per_second", "calls_with_bytes"];
const TIMES = ["name", "calls", "total_ns", "mean_ns", "min_ns", "max_ns"];
const OF_LAUNCH = ["op", "grid", "block", "registers", "shared_memory_bytes"];

const OF_GROUP: Record<Group, string[]> = {
  name: OF_KERNELS,
  op: ["op", ...OF_KERNELS],
  launch: [...OF_LAUNCH, ...OF_KERNELS],
  stream: OF_KERNELS,
  copies: OF_COPIES,
};

/** Asked for rarely: one stream and one device are the rule. */
const UNUSUAL: Record<Group, string[]> = {
  name: ["devices", "streams"],
  op: ["devices", "streams"],
  launch: ["devices", "streams", "min_ns", "max_ns"],
  stream: [],
  copies: ["calls_with_bytes"],
};

export function choices(by: Group): ColumnChoice[] {
  const known = new Set([...TIMES, ...OF_GROUP[by]]);
  return FIELDS.filter((field) => known.has(field)).map((field) => ({
    field,
    ...(field === "op" ? { label: "Operator" } : {}),
    usual: !UNUSUAL[by].includes(field),
    fixed: field === "name",
  }));
}

const TEXTS = new Set(["name", "op"]);
/** Short texts that need no more room than they take. */
const CODES = new Set(["grid", "block"]);

export function columns(fields: string[], largestShare: number): BrowseColumn<Row>[] {
  return fields.map((field) => {
    const column: BrowseColumn<Row> = {
      field,
      align: TEXTS.has(field) ? "left" : "right",
      sortable: field !== "devices" && field !== "streams",
      cell: (row) => valueCell(field, row[field as keyof Row]),
    };
    if (field === "name") {
      column.cell = (row) => <NameCell name={row.name} />;
    } else if (field === "op") {
      column.label = "Operator";
      column.width = "18%";
      column.cell = (row) =>
        row.op ? <bdi title={row.op}>{shortName(row.op)}</bdi> : <span class="quiet">unknown</span>;
    } else if (field === "share") {
      column.cell = (row) => <Share share={row.share ?? 0} of={largestShare} />;
    } else if (field === "blocks_per_sm") {
      column.cell = (row) => (row.blocks_per_sm == null ? dash : digits(row.blocks_per_sm));
    } else if (CODES.has(field)) {
      column.cell = (row) => <code>{row[field as "grid" | "block"]}</code>;
    }
    return column;
  });
}
