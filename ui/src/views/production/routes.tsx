// The routes: which is slow, which fails, what grew in it. A click shows that route alone.

import type { ComponentChildren } from "preact";
import type { RouteRow, ServiceDashboard } from "../../data/production-types.ts";
import { rowsOf } from "../../data/rows.ts";
import { HIGH_ERROR_SHARE } from "../../data/wire.ts";
import { about, count, percent, time } from "../../parts/format.ts";
import { definition, labelOf, Share } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { param, pushParams, setParams } from "../../session/route.ts";
import { Spark } from "./spark.tsx";
import { changeOf, rate, toneOf } from "./words.ts";

/** By what the rows can be sorted; the usual one first. */
const SORTS: Record<string, (row: RouteRow) => number | string> = {
  time_share: (row) => row.time_share,
  route: (row) => row.route,
  per_second: (row) => row.now.per_second,
  error_rate: (row) => row.now.error_rate,
  p50_ns: (row) => row.now.p50_ns,
  p95_ns: (row) => row.now.p95_ns,
  change: (row) => (row.before ? row.now.p95_ns / Math.max(1, row.before.p95_ns) : 0),
  p99_ns: (row) => row.now.p99_ns,
  grew: (row) => (row.grew ? row.grew.after_ns - row.grew.before_ns : 0),
};

/** Rows in an order: texts upwards, numbers downwards, equals by name. */
export function sorted(rows: readonly RouteRow[], by: string): RouteRow[] {
  const key = SORTS[by] ?? SORTS.time_share!;
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    const order = typeof x === "string" ? 0 : (y as number) - x;
    return order || a.route.localeCompare(b.route);
  });
}

export function Routes({ of }: { of: ServiceDashboard }) {
  const sort = param("sort") ?? "time_share";
  const rows = sorted(of.routes, sort);
  const most = Math.max(0, ...rows.map((row) => row.time_share));
  const chosen = rows.findIndex((row) => row.route === of.route);
  const number = (field: string, cell: (row: RouteRow) => ComponentChildren): Column<RouteRow> => ({
    field,
    label: labelOf(of.definitions, field),
    text: definition(of.definitions, field),
    cell,
  });
  // All percentiles share one definition.
  const percentile = (field: "p50_ns" | "p95_ns"): Column<RouteRow> => ({
    ...number("p95_ns", (row) => time(row.now[field])),
    field,
    label: field.slice(0, 3),
  });
  const columns: Column<RouteRow>[] = [
    { field: "route", label: "Route", align: "left", cell: (row) => <bdi title={row.route}>{row.route}</bdi> },
    percentile("p95_ns"),
    {
      field: "change",
      label: "Change",
      text: "Change of p95 from the period before.",
      cell: ({ now, before }) => (
        <span class={toneOf(before?.p95_ns, now.p95_ns, of.changed_share) || "quiet"}>
          {changeOf(before?.p95_ns, now.p95_ns) ?? "–"}
        </span>
      ),
    },
    {
      field: "course",
      label: "p95 over time",
      sortable: false,
      cell: (row) => <Spark values={row.p95_ns} color="sv-p95" width={70} height={18} />,
    },
    {
      field: "grew",
      label: "What grew",
      text: "The region whose time per request grew most since the period before.",
      cell: ({ grew }) =>
        grew ? (
          <>
            <bdi>{grew.region}</bdi> <span class="quiet">+{about(grew.after_ns - grew.before_ns)}</span>
          </>
        ) : (
          ""
        ),
    },
    number("per_second", ({ now }) => rate(now.per_second)),
    number("error_rate", ({ now }) => (
      <span class={now.error_rate >= HIGH_ERROR_SHARE ? "tone-bad" : undefined}>{percent(now.error_rate)}</span>
    )),
    percentile("p50_ns"),
    {
      field: "time_share",
      label: "Time",
      text: "Time in requests of this route, by the time in requests of all routes.",
      cell: (row) => <Share share={row.time_share} of={most} />,
    },
  ];
  return (
    <Card
      title="Routes"
      note={
        of.route === null ? (
          `${count(rows.length)}; click one to see it alone`
        ) : (
          <button type="button" class="link" onClick={() => pushParams({ route: undefined })}>
            Show all routes
          </button>
        )
      }
    >
      <Table
        label="Routes"
        columns={columns}
        rows={rowsOf(rows)}
        sort={sort}
        onSort={(field) => setParams({ sort: field === "time_share" ? undefined : field })}
        open={chosen < 0 ? undefined : chosen}
        onOpen={(row) => pushParams({ route: row.route === of.route ? undefined : row.route })}
        height={206}
      />
    </Card>
  );
}
