// The numbers of a module, one column each.

import type { ComponentChildren } from "preact";
import type { Definition } from "../../data/types.ts";
import type { ColumnChoice } from "../../parts/columns.tsx";
import { definition } from "../../parts/figure.tsx";
import { count, flops, percent, time } from "../../parts/format.ts";
import { shareOf } from "./tree.ts";
import type { ModuleRow } from "./types.ts";

export interface ModuleColumn extends ColumnChoice {
  width: string;
  text: string | undefined;
  cell: (row: ModuleRow) => ComponentChildren;
}

const SHARE =
  "Device time launched by the module and its backward operators, including child modules, as a share of all device time. Host time if nothing ran on a device.";

/** What can be shown; the name of the module comes first. */
export function moduleColumns(
  rows: readonly ModuleRow[],
  definitions: Definition[] | undefined,
  device: number,
): ModuleColumn[] {
  const host = rows.reduce(
    (sum, row) => (row.parent === null ? sum + row.host_total_ns + row.backward_host_ns : sum),
    0,
  );
  const onDevice = device > 0;
  const largest = rows.reduce((most, row) => {
    const { forward, backward } = shareOf(row, device, host);
    return Math.max(most, forward + backward);
  }, 0);
  const text = (field: string) => definition(definitions, field);
  const ns = (field: keyof ModuleRow, label: string, usual: boolean, width = "104px"): ModuleColumn => ({
    field,
    label,
    usual,
    width,
    text: text(field),
    cell: (row) => {
      const value = row[field];
      return typeof value === "number" && value !== 0 ? time(value) : <span class="quiet">–</span>;
    },
  });
  const many = (field: keyof ModuleRow, label: string, usual: boolean): ModuleColumn => ({
    field,
    label,
    usual,
    width: "78px",
    text: text(field),
    cell: (row) => {
      const value = row[field];
      return typeof value === "number" ? count(value) : <span class="quiet">–</span>;
    },
  });
  const floating = (field: "flops_total" | "flops_self", label: string, usual: boolean): ModuleColumn => ({
    field,
    label,
    usual,
    width: "104px",
    text: text(field),
    cell: (row) => (row[field] > 0 ? flops(row[field]) : <span class="quiet">–</span>),
  });
  const columns: ModuleColumn[] = [
    many("occurrences", "Calls", true),
    many("operators_total", "Operators", false),
    {
      field: "share",
      label: onDevice ? "Share of device time" : "Share of host time",
      usual: true,
      width: "190px",
      text: text("share") ?? SHARE,
      cell: (row) => <ShareCell {...shareOf(row, device, host)} of={largest} />,
    },
    ns("device_total_ns", "Device total", onDevice, "116px"),
    ns("device_self_ns", "Device self", onDevice, "108px"),
    ns("backward_device_ns", "Backward device", onDevice, "140px"),
    ns("host_total_ns", "Host total", true),
    ns("host_self_ns", "Host self", true),
    ns("backward_host_ns", "Backward host", !onDevice, "128px"),
  ];
  // Shapes were not recorded, or nothing the formulas know ran: a column of dashes would say nothing.
  if (rows.some((row) => row.flops_total > 0))
    columns.push(floating("flops_total", "FLOPs", true), floating("flops_self", "FLOPs self", false));
  return columns;
}

/** Forward and backward one after the other; the largest share fills the bar. */
function ShareCell({ forward, backward, of }: { forward: number; backward: number; of: number }) {
  const width = (share: number) => `${of > 0 ? Math.max(0, Math.min(1, share / of)) * 100 : 0}%`;
  return (
    <span class="share">
      {percent(forward + backward)}
      <span class="bar mod-bar" aria-hidden="true">
        <span class="mod-forward" style={{ width: width(forward) }} />
        <span class="mod-backward" style={{ width: width(backward) }} />
      </span>
    </span>
  );
}
