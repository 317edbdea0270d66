// The columns of the operator table: which there are, which are usual, how their cells look.

import { dash, NameCell, valueCell } from "../../parts/browse.tsx";
import type { ColumnChoice } from "../../parts/columns.tsx";
import { Share } from "../../parts/figure.tsx";
import type { Column } from "../../parts/table.tsx";
import { CallSite } from "./call-site.tsx";
import type { Group, OpRow, Part, Totals } from "./types.ts";

/** A share column sorts as the time it is a share of. */
export const SORT_AS: Record<string, string> = { device_share: "device_self_ns", host_share: "host_self_ns" };

const LABELS: Record<string, string> = {
  name: "Name",
  input_shapes: "Input shapes",
  stack: "Call site",
  overload: "Overload",
  calls: "Calls",
  device_self_ns: "Device self",
  device_share: "% device",
  device_total_ns: "Device total",
  device_mean_ns: "Device mean",
  host_self_ns: "Host self",
  host_share: "% host",
  host_total_ns: "Host total",
  host_mean_ns: "Host mean",
  device_self_memory_bytes: "Device mem self",
  device_memory_bytes: "Device mem",
  host_self_memory_bytes: "Host mem self",
  host_memory_bytes: "Host mem",
  flops: "FLOPs",
  tc_eligible: "TC eligible",
  tc_self_share: "TC self",
  tc_total_share: "TC total",
};

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

export function choices(part: Part, by: Group, hasDevice: boolean): ColumnChoice[] {
  const shown = usual(part, by, hasDevice);
  const ofGroup = OF_GROUP[by];
  return Object.entries(LABELS)
    .filter(([field]) => !["input_shapes", "stack", "overload"].includes(field) || ofGroup.includes(field))
    .map(([field, label]) => ({
      field,
      label,
      usual: shown.has(field) || ofGroup.includes(field),
      fixed: field === "name",
    }));
}

/** What fills the bar of a share: the largest one, if it is known. */
export interface Largest {
  device: number;
  host: number;
}

export function columns(
  fields: string[],
  totals: Totals | undefined,
  largest: Largest,
  text: (field: string) => string | undefined,
): Column<OpRow>[] {
  return fields.map((field) => {
    const column: Column<OpRow> = {
      field,
      label: LABELS[field] ?? field,
      text: text(SORT_AS[field] ?? field),
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
      column.text = `Device self as a share of all device time. ${column.text ?? ""}`;
      column.cell = (row) => share(row.device_self_ns, total, largest.device);
    } else if (field === "host_share") {
      const total = totals?.total_host_self_ns ?? 0;
      column.text = `Host self as a share of the total over all rows. ${column.text ?? ""}`;
      column.cell = (row) => share(row.host_self_ns, total, largest.host);
    }
    return column;
  });
}

function share(ns: number, total: number, largest: number) {
  if (total <= 0 || ns === 0) return dash;
  return <Share share={ns / total} of={largest / total} />;
}
