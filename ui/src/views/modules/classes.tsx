// All modules of one class together.

import { useMemo } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { Definition } from "../../data/types.ts";
import type { ModuleClassRow, ModulesLedger } from "../../data/wire.ts";
import { dash } from "../../parts/browse.tsx";
import { time } from "../../parts/format.ts";
import { Name } from "../../parts/links.tsx";
import { Share } from "../../parts/metric.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { param, setParams } from "../../session/route.ts";

export function Classes(props: {
  rows: ModuleClassRow[];
  ledger: ModulesLedger;
  text: string | undefined;
  definitions: Definition[] | undefined;
  onOpen: (row: ModuleClassRow) => void;
}) {
  const { rows, ledger, definitions } = props;
  const onDevice = ledger.device_ns > 0;
  const usual = onDevice ? "device_self_ns" : "host_self_ns";
  const sort = param("sort") ?? usual;
  const sought = props.text?.trim().toLowerCase() ?? "";
  const shown = useMemo(() => {
    const kept = rows.filter((row) => row.name.toLowerCase().includes(sought));
    if (sort === "name") return kept.sort((a, b) => (a.name < b.name ? -1 : 1));
    const value = (row: ModuleClassRow) => {
      const found = row[sort as keyof ModuleClassRow];
      return typeof found === "number" ? found : row[usual];
    };
    return kept.sort((a, b) => value(b) - value(a) || (a.name < b.name ? -1 : 1));
  }, [rows, sought, sort, usual]);
  const all = onDevice ? ledger.device_ns : rows.reduce((sum, row) => sum + row.host_self_ns, 0);
  const share = (row: ModuleClassRow) =>
    all > 0 ? (onDevice ? row.device_self_ns + row.backward_device_self_ns : row.host_self_ns) / all : 0;
  const largest = Math.max(...rows.map(share), 0);
  const time_ns = (field: keyof ModuleClassRow, width: string): Column<ModuleClassRow> =>
    defined(definitions, field, {
      width,
      cell: (row) => (row[field] === 0 ? dash : time(Number(row[field]))),
    });
  const columns: Column<ModuleClassRow>[] = [
    { field: "name", label: "Class", align: "left", cell: (row) => <Name name={row.name} /> },
    defined(definitions, "modules", { width: "90px" }),
    defined(definitions, "occurrences", { width: "80px" }),
    {
      field: "share",
      label: onDevice ? "Share of device time" : "Share of host time",
      text: "Forward and backward self time of the class, as a share of all device time, or of host time if nothing ran on a device.",
      width: "170px",
      sortable: false,
      cell: (row) => <Share share={share(row)} of={largest} />,
    },
    ...(onDevice ? [time_ns("device_self_ns", "116px"), time_ns("backward_device_self_ns", "144px")] : []),
    time_ns("host_self_ns", "116px"),
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
