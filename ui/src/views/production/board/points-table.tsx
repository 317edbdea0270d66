// The numbers behind the charts, a row per point, newest first.

import type { ServiceDashboard } from "../../../data/production-types.ts";
import { rowsOf } from "../../../data/rows.ts";
import { count, percent, time } from "../../../parts/format.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { momentOf, type Zone } from "../clock.ts";
import { counterText, known, rate } from "../words.ts";
import { perSecond } from "./frame.ts";

export function PointsTable({ of, zone }: { of: ServiceDashboard; zone: Zone }) {
  const { series } = of;
  const rates = perSecond(series.requests, of);
  const number = (field: string, label: string, text: (at: number) => string): Column<number> => ({
    field,
    label,
    cell: text,
  });
  const columns: Column<number>[] = [
    { field: "minute", label: "From", align: "left", cell: (at) => momentOf(of.minutes[at] ?? 0, zone) },
    number("requests", "Requests", (at) => count(series.requests[at] ?? 0)),
    number("rate", "Per second", (at) => rate(rates[at] ?? 0)),
    number("errors", "Errors", (at) => count(series.errors[at] ?? 0)),
    ...(["p50_ns", "p90_ns", "p95_ns", "p99_ns", "max_ns"] as const).map((field) =>
      number(field, field === "max_ns" ? "Max" : field.slice(0, 3), (at) => known(series[field][at], time)),
    ),
    ...of.regions.map(({ name, time_ns }) =>
      number(`region ${name}`, name, (at) => {
        const requests = series.requests[at] ?? 0;
        return requests > 0 ? time((time_ns[at] ?? 0) / requests) : "–";
      }),
    ),
    ...of.targets.map((one) =>
      number(`burn ${one.route} ${one.target}`, `Burn ${one.route} ${one.target}`, (at) =>
        known(one.burn_over_time[at], (value) => value.toFixed(1)),
      ),
    ),
    ...of.counters.map((one) =>
      number(`counter ${one.name} ${one.device}`, [one.name, one.device].filter(Boolean).join(", "), (at) =>
        known(one.values[at], (value) => counterText(value, one.unit)),
      ),
    ),
  ];
  const rows = of.minutes.map((_, at) => of.minutes.length - 1 - at);
  return (
    <>
      <p class="card-note">
        {`A row is ${of.point_minutes === 1 ? "a minute" : `${count(of.point_minutes)} minutes`}; regions are per request. ${percent(of.total.quantile_error)} is the most that a percentile is off by.`}
      </p>
      <Table label="Points" columns={columns} rows={rowsOf(rows)} height={520} />
    </>
  );
}
