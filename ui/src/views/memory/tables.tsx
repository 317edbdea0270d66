// Which operators allocate memory, and every allocation with its lifetime.

import { useMemo } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { Definition, Options } from "../../data/types.ts";
import type { Event, OperatorMemory } from "../../data/wire.ts";
import { Choice } from "../../parts/choice.tsx";
import { Filter } from "../../parts/filter.tsx";
import { bytes, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { showRange } from "../../parts/jump.tsx";
import { Name } from "../../parts/links.tsx";
import { Bar, definition } from "../../parts/metric.tsx";
import { Card, Empty, Trouble } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { param, setParams } from "../../session/route.ts";
import { runId, source } from "../../session/state.ts";
import { useRows } from "../../session/use-rows.ts";
import { arrangeOperators } from "./arrange.ts";

const TABLES = [
  { value: "op", name: "By operator" },
  { value: "event", name: "All allocations" },
] as const;

interface Props {
  device: string;
  operators: OperatorMemory[];
  definitions: Definition[] | undefined;
  /** What narrows the answer: step, from, to. */
  narrowed: Options;
}

export function Tables(props: Props) {
  const by = param("by") === "event" ? "event" : "op";
  const csv = source.csvUrl(runId.value ?? 0, "memory", { by, top: 0, ...props.narrowed });
  return (
    <Card
      title={by === "op" ? "Operators" : "Allocations"}
      text={definition(props.definitions, by === "op" ? "self_allocated_bytes" : "duration_ns")}
      note={
        csv && (
          <a class="mem-csv" href={csv} download>
            <Icon name="download" size={14} /> CSV
          </a>
        )
      }
    >
      <div class="toolbar mem-bar">
        <Choice
          label="Table"
          options={TABLES}
          value={by}
          onChange={(value) => setParams({ by: value === "op" ? undefined : value, sort: undefined })}
        />
        <Filter label="Filter operators" value={param("filter")} onChange={(filter) => setParams({ filter })} />
      </div>
      {by === "op" ? <Operators {...props} /> : <Events {...props} />}
    </Card>
  );
}

function Operators({ device, operators, definitions }: Props) {
  const sort = param("sort") ?? "self_allocated_bytes";
  const filter = param("filter");
  const arranged = useMemo(
    () => arrangeOperators(operators, device, filter, sort),
    [operators, device, filter, sort],
  );
  const largest = useMemo(
    () =>
      operators.reduce(
        (most, row) => (row.device === device ? Math.max(most, row.self_allocated_bytes) : most),
        0,
      ),
    [operators, device],
  );
  if (typeof arranged === "string") return <Trouble problem={{ message: arranged }} />;
  const columns: Column<OperatorMemory>[] = [
    { field: "name", label: "Operator", align: "left", cell: (row) => <Name name={row.name} /> },
    defined(definitions, "calls", { width: "72px" }),
    defined(definitions, "self_allocated_bytes", {
      width: "190px",
      cell: (row) => (
        <span class="mem-cell">
          <Bar share={largest > 0 ? row.self_allocated_bytes / largest : 0} />
          <span>{bytes(row.self_allocated_bytes)}</span>
        </span>
      ),
    }),
    defined(definitions, "self_allocation_count", { width: "128px" }),
    defined(definitions, "self_increase_bytes", { width: "112px" }),
    defined(definitions, "allocated_bytes", { width: "96px" }),
    defined(definitions, "increase_bytes", { width: "96px" }),
  ];
  return (
    <Table
      label={`Operators by memory on ${device}`}
      columns={columns}
      rows={rowsOf(arranged)}
      sort={sort}
      onSort={(field) => setParams({ sort: field === "self_allocated_bytes" ? undefined : field })}
      height={460}
      empty={<Empty title={filter ? "No operators match the filter." : "No operator allocated memory here."} />}
    />
  );
}

function Events({ definitions, narrowed }: Props) {
  const sort = param("sort") ?? "bytes";
  const filter = param("filter");
  const { rows, problem, pending } = useRows<Event>("memory", "events", {
    by: "event",
    sort,
    filter,
    ...narrowed,
  });
  if (problem) return <Trouble problem={problem} />;
  if (!rows) return <div class="skeleton" />;
  const columns: Column<Event>[] = [
    {
      field: "operator",
      label: "Operator",
      align: "left",
      cell: (row) =>
        row.operator === null ? (
          <span class="quiet">{row.allocated_at_ns === null ? "unknown" : "no operator"}</span>
        ) : (
          <Name name={row.operator} />
        ),
    },
    defined(definitions, "device", { width: "92px", sortable: false }),
    defined(definitions, "bytes", { width: "96px" }),
    defined(definitions, "allocated_at_ns", {
      width: "124px",
      cell: (row) =>
        row.allocated_at_ns === null ? <span class="quiet">before recording</span> : time(row.allocated_at_ns),
    }),
    defined(definitions, "released_at_ns", {
      width: "124px",
      cell: (row) =>
        row.released_at_ns === null ? <span class="quiet">still live</span> : time(row.released_at_ns),
    }),
    defined(definitions, "duration_ns", { width: "104px" }),
    {
      field: "jump",
      label: "Show",
      text: "Show its lifetime on the timeline.",
      width: "64px",
      sortable: false,
      cell: (row) => <Jump row={row} />,
    },
  ];
  return (
    <div class={pending ? "stale" : undefined}>
      <Table
        label="Allocations"
        columns={columns}
        rows={rows}
        sort={sort}
        onSort={(field) => setParams({ sort: field === "bytes" ? undefined : field })}
        height={460}
        empty={<Empty title={filter ? "No allocations match the filter." : "No allocations here."} />}
      />
    </div>
  );
}

function Jump({ row }: { row: Event }) {
  const from = row.allocated_at_ns ?? row.released_at_ns;
  const to = row.released_at_ns ?? row.allocated_at_ns;
  if (from === null || to === null) return null;
  return (
    <button
      type="button"
      class="jump"
      title="Show its lifetime on the timeline"
      aria-label={`Show on the timeline: ${bytes(row.bytes)} from ${time(from)} to ${time(to)}`}
      onClick={() => showRange(from, to)}
    >
      <Icon name="jump" size={14} />
    </button>
  );
}
