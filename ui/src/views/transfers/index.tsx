// Copies: how much goes where, how fast compared with the bus, and what of it is exposed.

import type { Account } from "../../data/account.ts";
import { rowsOf } from "../../data/rows.ts";
import type { BusRow, TransfersAnswer } from "../../data/wire.ts";
import { bytes, bytesPerSecond, count, percent, time } from "../../parts/format.ts";
import { word } from "../../parts/key-names.ts";
import { definition, Metric } from "../../parts/metric.tsx";
import { hasDevice, NoDevice, scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { tipOn } from "../../parts/tip.tsx";
import { useAsk } from "../../session/use-ask.ts";
import { busOf, copyLabel, sums } from "./copies.ts";

export function Transfers({ account }: { account: Account | undefined }) {
  const onDevice = hasDevice(account);
  const transfers = useAsk<TransfersAnswer>("transfers", { ...scoped(true), top: 0 }, onDevice);
  if (!onDevice) return <NoDevice what="Transfers are copies to, from and between GPUs." />;
  return (
    <Await of={transfers}>
      {(answer) =>
        answer.transfers.length === 0 ? (
          <Empty title="No copies in these steps." hint="No data moved to, from or between devices." />
        ) : (
          <div class="card-column">
            <Totals answer={answer} />
            <Exposed answer={answer} />
            <Rates answer={answer} />
            <All answer={answer} />
          </div>
        )
      }
    </Await>
  );
}

function Totals({ answer }: { answer: TransfersAnswer }) {
  const all = sums(answer.transfers);
  const of = answer.definitions;
  return (
    <Card title="Copies">
      <div class="metrics">
        <Metric of={of} field="bytes" value={bytes(all.bytes)} />
        <Metric of={of} field="calls" value={count(all.calls)} />
        <Metric of={of} field="total_ns" value={time(all.total_ns)} />
        <Metric
          of={of}
          field="exposed_ns"
          value={time(all.exposed_ns)}
          note={`${percent(all.exposed_ns / Math.max(1, all.total_ns))} of copy time`}
          share={all.exposed_ns / Math.max(1, all.total_ns)}
        />
        <Metric of={of} field="host_ns" value={time(all.host_ns)} />
      </div>
    </Card>
  );
}

/** Time by direction: dark is exposed, light is hidden behind kernels. */
function Exposed({ answer }: { answer: TransfersAnswer }) {
  const longest = Math.max(1, ...answer.transfers.map((row) => row.total_ns));
  const several = new Set(answer.transfers.map((row) => row.device)).size > 1;
  return (
    <Card title="Time by direction" text={definition(answer.definitions, "exposed_ns")}>
      <div class="versus-lengths">
        {answer.transfers.map((row) => (
          <div key={`${row.device} ${row.direction} ${row.memory}`}>
            <span>{copyLabel(row, several)}</span>
            <span
              class="versus-bar"
              {...tipOn(`exposed ${time(row.exposed_ns)}, hidden ${time(row.total_ns - row.exposed_ns)}`)}
            >
              <span class="cat-10" style={{ width: `${(row.exposed_ns / longest) * 100}%` }} />
              <span
                class="pale-fill hue-10"
                style={{ width: `${((row.total_ns - row.exposed_ns) / longest) * 100}%` }}
              />
            </span>
            <strong class="num">{time(row.total_ns)}</strong>
          </div>
        ))}
      </div>
      <ul class="legend chart-legend">
        <li>
          <span class="swatch cat-10" /> exposed: no kernel was running
        </li>
        <li>
          <span class="swatch pale-fill hue-10" /> hidden behind kernels
        </li>
      </ul>
    </Card>
  );
}

/** Rates beside what the bus can do: only large copies say something about it. */
function Rates({ answer }: { answer: TransfersAnswer }) {
  const bus = busOf(answer.transfers);
  const rows = answer.transfers.filter((row) => row.of_bus !== null && row.large_bytes_per_second !== null);
  if (bus === undefined || rows.length === 0) return null;
  const several = new Set(answer.transfers.map((row) => row.device)).size > 1;
  return (
    <Card
      title="Bandwidth of large copies"
      text={`${definition(answer.definitions, "large_bytes_per_second")} ${definition(answer.definitions, "of_bus")}`}
      note={`bus peak: ${bytesPerSecond(bus)} in one direction`}
    >
      <div class="versus-lengths">
        {rows.map((row) => (
          <div key={`${row.device} ${row.direction} ${row.memory}`}>
            <span>{copyLabel(row, several)}</span>
            <span class="versus-bar framed" aria-hidden="true">
              <span class="predicted" style={{ width: `${Math.min(1, row.of_bus ?? 0) * 100}%` }} />
            </span>
            <strong class="num">
              {bytesPerSecond(row.large_bytes_per_second ?? 0)}{" "}
              <span class="quiet">{percent(row.of_bus ?? 0)}</span>
            </strong>
          </div>
        ))}
      </div>
    </Card>
  );
}

function All({ answer }: { answer: TransfersAnswer }) {
  const definitions = answer.definitions;
  const several = new Set(answer.transfers.map((row) => row.device)).size > 1;
  const columns: Column<BusRow>[] = [
    ...(several ? [defined<BusRow>(definitions, "device", { width: "64px" })] : []),
    defined<BusRow>(definitions, "direction", { align: "left", cell: (row) => word(row.direction) }),
    defined<BusRow>(definitions, "memory", { width: "90px", cell: (row) => word(row.memory) }),
    defined<BusRow>(definitions, "calls", { width: "72px" }),
    defined<BusRow>(definitions, "bytes", { width: "90px" }),
    defined<BusRow>(definitions, "total_ns", { width: "90px" }),
    defined<BusRow>(definitions, "exposed_ns", { width: "90px" }),
    defined<BusRow>(definitions, "host_ns", { width: "100px" }),
    defined<BusRow>(definitions, "bytes_per_second", { width: "96px" }),
    defined<BusRow>(definitions, "large_bytes_per_second", { width: "96px" }),
    defined<BusRow>(definitions, "of_bus", { width: "80px" }),
  ];
  return (
    <Card title="All copies">
      <Table label="Copies" columns={columns} rows={rowsOf(answer.transfers)} />
    </Card>
  );
}
