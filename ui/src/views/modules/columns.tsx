// The numbers of a module, one column each.

import type { ComponentChildren } from "preact";
import type { Definition } from "../../data/types.ts";
import type { Module } from "../../data/wire.ts";
import { dash } from "../../parts/browse.tsx";
import type { ColumnChoice } from "../../parts/columns.tsx";
import { count, flops, percent, time } from "../../parts/format.ts";
import { definition, labelOf } from "../../parts/metric.tsx";
import { shareOf } from "./tree.ts";

export interface ModuleColumn extends ColumnChoice {
  label: string;
  width: string;
  text: string | undefined;
  cell: (row: Module) => ComponentChildren;
}

const SHARE =
  "Device time launched by the module and its backward operators, including child modules, as a share of all device time. Host time if nothing ran on a device.";

/** What can be shown; the name of the module comes first. */
export function moduleColumns(
  rows: readonly Module[],
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
  const number = (
    field: keyof Module,
    usual: boolean,
    width: string,
    shown: (value: number) => string,
  ): ModuleColumn => ({
    field,
    label: labelOf(definitions, field),
    usual,
    width,
    text: definition(definitions, field),
    cell: (row) => {
      const value = row[field];
      return typeof value === "number" && (value !== 0 || shown === count) ? shown(value) : dash;
    },
  });
  const columns: ModuleColumn[] = [
    number("occurrences", true, "78px", count),
    number("operators_total", false, "78px", count),
    {
      field: "share",
      label: onDevice ? "Share of device time" : "Share of host time",
      usual: true,
      width: "190px",
      text: definition(definitions, "share") ?? SHARE,
      cell: (row) => <ShareCell {...shareOf(row, device, host)} of={largest} />,
    },
    number("device_total_ns", onDevice, "116px", time),
    number("device_self_ns", onDevice, "108px", time),
    number("backward_device_ns", onDevice, "140px", time),
    number("host_total_ns", true, "104px", time),
    number("host_self_ns", true, "104px", time),
    number("backward_host_ns", !onDevice, "128px", time),
  ];
  // Shapes were not recorded, or nothing the formulas know ran: a column of dashes would say nothing.
  if (rows.some((row) => row.flops_total > 0))
    columns.push(number("flops_total", true, "104px", flops), number("flops_self", false, "104px", flops));
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
