// All modules of one class together.

import { useMemo } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { Definition } from "../../data/types.ts";
import { definition, Share } from "../../parts/figure.tsx";
import { count, time } from "../../parts/format.ts";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { param, setParams } from "../../session/route.ts";
import type { ClassRow, Ledger } from "./types.ts";

export function Classes(props: {
  rows: ClassRow[];
  ledger: Ledger;
  text: string | undefined;
  definitions: Definition[] | undefined;
  onOpen: (row: ClassRow) => void;
}) {
  const { rows, ledger, definitions } = props;
  const onDevice = ledger.device_ns > 0;
  const usual = onDevice ? "device_self_ns" : "host_self_ns";
  const sort = param("sort") ?? usual;
  const sought = props.text?.trim().toLowerCase() ?? "";
  const shown = useMemo(() => {
    const kept = rows.filter((row) => row.name.toLowerCase().includes(sought));
    if (sort === "name") return kept.sort((a, b) => (a.name < b.name ? -1 : 1));
    const value = (row: ClassRow) => {
      const found = row[sort as keyof ClassRow];
      return typeof found === "number" ? found : row[usual];
    };
    return kept.sort((a, b) => value(b) - value(a) || (a.name < b.name ? -1 : 1));
  }, [rows, sought, sort, usual]);
  const all = onDevice ? ledger.device_ns : rows.reduce((sum, row) => sum + row.host_self_ns, 0);
  const share = (row: ClassRow) =>
    all > 0 ? (onDevice ? row.device_self_ns + row.backward_device_self_ns : row.host_self_ns) / all : 0;
  const largest = Math.max(...rows.map(share), 0);
  const figure = (field: keyof ClassRow, label: string, width: string): Column<ClassRow> => ({
    field,
    label,
    width,
    text: definition(definitions, field),
    cell: (row) => (row[field] === 0 ? <span class="quiet">–</span> : time(Number(row[field]))),
  });
  const columns: Column<ClassRow>[] = [
    {
      field: "name",
      label: "Class",
      align: "left",
      cell: (row) => (
        <span title={row.name}>
          <bdi>{row.name}</bdi>
        </span>
      ),
    },
    {
      field: "modules",
      label: "Modules",
      text: definition(definitions, "modules"),
      width: "90px",
      cell: (row) => count(row.modules),
    },
    {
      field: "occurrences",
      label: "Calls",
      text: definition(definitions, "occurrences"),
      width: "80px",
      cell: (row) => count(row.occurrences),
    },
    {
      field: "share",
      label: onDevice ? "Share of device time" : "Share of host time",
      text: "Forward and backward self time of the class, as a share of all device time, or of host time if nothing ran on a device.",
      width: "170px",
      sortable: false,
      cell: (row) => <Share share={share(row)} of={largest} />,
    },
    ...(onDevice
      ? [
          figure("device_self_ns", "Device self", "116px"),
          figure("backward_device_self_ns", "Backward self", "144px"),
        ]
      : []),
    figure("host_self_ns", "Host self", "116px"),
  ];
  return (
    <Table
      label="Modules by class"
      columns={columns}
      rows={rowsOf(shown)}
      sort={sort}
      onSort={(field) => setParams({ sort: field === usual ? undefined : field })}
      onOpen={props.onOpen}
      height={640}
      empty={<Empty title="No classes match." />}
    />
  );
}
