// Requests that were kept, the slowest first. A click shows where the time of one went.

import type { Exemplar, ServiceDashboard } from "../../data/production-types.ts";
import { rowsOf } from "../../data/rows.ts";
import { digits, percent, time } from "../../parts/format.ts";
import { Bar } from "../../parts/metric.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { secondOf, shortMoment, type Zone } from "./clock.ts";
import { longestOwn } from "./spans.ts";

export function Exemplars(props: { of: ServiceDashboard; zone: Zone; onOpen: (one: Exemplar) => void }) {
  const { of, zone } = props;
  const rows = [...of.exemplars].sort((a, b) => b.latency_ns - a.latency_ns);
  const most = rows[0]?.latency_ns ?? 1;
  const columns: Column<Exemplar>[] = [
    {
      field: "route",
      label: "Request",
      align: "left",
      cell: (row) => (
        <>
          <bdi>{row.route}</bdi> <span class="quiet">{row.id}</span>
        </>
      ),
    },
    {
      field: "ended_ns",
      label: "Ended",
      cell: (row) => {
        const day = shortMoment(row.ended_ns / 60e9, of.until, zone).split(", ");
        return [...day.slice(0, -1), secondOf(row.ended_ns, zone)].join(", ");
      },
    },
    {
      field: "latency_ns",
      label: "Latency",
      cell: (row) => (
        <span class="share">
          {time(row.latency_ns)} <Bar share={row.latency_ns / most} />
        </span>
      ),
    },
    {
      field: "usual",
      label: "Of p50",
      text: "The latency by the p50 of its route over the period.",
      cell: (row) => {
        const usual = of.routes.find((one) => one.route === row.route)?.now.p50_ns;
        return usual ? `${digits(row.latency_ns / usual)}×` : "–";
      },
    },
    {
      field: "region",
      label: "Most of it in",
      cell: (row) => {
        const longest = longestOwn(row);
        return longest ? (
          <>
            <bdi>{longest.name}</bdi>{" "}
            <span class="quiet">{percent(longest.own_ns / Math.max(1, row.latency_ns))}</span>
          </>
        ) : (
          <span class="quiet">no regions</span>
        );
      },
    },
    {
      field: "failed",
      label: "Result",
      cell: (row) => (row.failed ? <span class="tone-bad">failed</span> : <span class="quiet">fine</span>),
    },
    {
      field: "why",
      label: "Kept as",
      cell: (row) => `${row.slow ? "slow" : "random"}${row.stack.length > 0 ? ", with stack" : ""}`,
    },
  ];
  return (
    <Card
      title="Requests"
      note={rows.length > 0 && "slowest first, and some at random; click one to see where its time went"}
    >
      <Table
        label="Requests"
        columns={columns}
        rows={rowsOf(rows)}
        onOpen={props.onOpen}
        height={300}
        empty={
          <Empty
            title="No single request was kept in this period."
            hint="The slowest of each hour and some at random are kept once the hour has requests."
          />
        }
      />
    </Card>
  );
}
