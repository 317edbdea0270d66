// The columns of the operator table: which there are, which are usual, how their cells look.

import { GROUPINGS, type OpRow, type OpsTotals } from "../../data/wire.ts";
import { type BrowseColumn, dash, NameCell, valueCell } from "../../parts/browse.tsx";
import type { ColumnChoice } from "../../parts/columns.tsx";
import { type Definitions, definition, Share } from "../../parts/metric.tsx";
import { CallSite } from "./call-site.tsx";

export const PARTS = ["ops", "annotations", "calls"] as const;
export type Part = (typeof PARTS)[number];

export const GROUPS = GROUPINGS.ops;
export type Group = (typeof GROUPS)[number];

/** A share column sorts as the time it is a share of. */
export const SORT_AS: Record<string, string> = { device_share: "device_self_ns", host_share: "host_self_ns" };

const FIELDS = [
  ...["name", "input_shapes", "stack", "overload", "calls"],
  ...["device_self_ns", "device_share", "device_total_ns", "device_mean_ns"],
  ...["host_self_ns", "host_share", "host_total_ns", "host_mean_ns"],
  ...["device_self_memory_bytes", "device_memory_bytes", "host_self_memory_bytes", "host_memory_bytes"],
  ...["flops", "tc_eligible", "tc_self_share", "tc_total_share"],
];
/** What only the page has. */
const LABELS: Record<string, string> = { stack: "Call site", device_share: "% device", host_share: "% host" };

const OF_GROUP: Record<Group, string[]> = {
  name: [],
  shape: ["input_shapes"],
  "shape-lists": ["input_shapes"],
  stack: ["stack"],
  overload: ["overload"],
};

const TEXTS = new Set(["name", "input_shapes", "stack", "overload"]);

/** A second text needs room: fewer numbers beside it. */
const BESIDE_TEXT = [
  "calls",
  "device_self_ns",
  "device_share",
  "device_total_ns",
  "host_self_ns",
  "host_total_ns",
];

function usual(part: Part, by: Group, hasDevice: boolean): Set<string> {
  const host = ["calls", "host_self_ns", "host_share", "host_total_ns"];
  if (part === "calls") return new Set([...host, "host_mean_ns"]);
  if (!hasDevice) return new Set([...host, "host_mean_ns", "flops"]);
  if (by !== "name" && part === "ops") return new Set(BESIDE_TEXT);
  const device = ["device_self_ns", "device_share", "device_total_ns"];
  if (part === "annotations") return new Set(["calls", "host_total_ns", "host_self_ns", "device_total_ns"]);
  return new Set([...host, ...device, "tc_eligible", "tc_self_share"]);
}

function labeled(field: string): { label?: string } {
  const label = LABELS[field];
  return label === undefined ? {} : { label };
}

export function choices(part: Part, by: Group, hasDevice: boolean): ColumnChoice[] {
  const shown = usual(part, by, hasDevice);
  const ofGroup = OF_GROUP[by];
  return FIELDS.filter((field) => field === "name" || !TEXTS.has(field) || ofGroup.includes(field)).map(
    (field) => ({
      field,
      ...labeled(field),
      usual: shown.has(field) || ofGroup.includes(field),
      fixed: field === "name",
    }),
  );
}

/** What fills the bar of a share: the largest one, if it is known. */
export interface Largest {
  device: number;
  host: number;
}

export function columns(
  fields: string[],
  totals: OpsTotals | undefined,
  largest: Largest,
  of: Definitions,
): BrowseColumn<OpRow>[] {
  return fields.map((field) => {
    const column: BrowseColumn<OpRow> = {
      field,
      ...labeled(field),
      align: TEXTS.has(field) ? "left" : "right",
      cell: (row) => valueCell(field, row[field as keyof OpRow] || null),
    };
    if (field === "name") {
      column.cell = (row) => <NameCell name={row.name} />;
    } else if (field === "stack") {
      column.cell = (row) => <CallSite stack={row.stack} />;
    } else if (field === "input_shapes" || field === "overload") {
      column.cell = (row) => <bdi title={row[field] ?? undefined}>{row[field]}</bdi>;
    } else if (field === "device_share") {
      const total = totals?.total_device_self_ns ?? 0;
      column.text = `Device self as a share of all device time. ${definition(of, "device_self_ns") ?? ""}`;
      column.cell = (row) => share(row.device_self_ns, total, largest.device);
    } else if (field === "host_share") {
      const total = totals?.total_host_self_ns ?? 0;
      column.text = `Host self as a share of the total over all rows. ${definition(of, "host_self_ns") ?? ""}`;
      column.cell = (row) => share(row.host_self_ns, total, largest.host);
    }
    return column;
  });
}

function share(ns: number, total: number, largest: number) {
  if (total <= 0 || ns === 0) return dash;
  return <Share share={ns / total} of={largest / total} />;
}
