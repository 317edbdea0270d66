// Whether the host keeps up: what launches cost, how full the queue is, how many kernels are too short.

import type { Account } from "../../data/account.ts";
import type { LaunchesAnswer, LaunchRow } from "../../data/wire.ts";
import { count, digits, percent, time } from "../../parts/format.ts";
import { type Definitions, definition, Label, Metric } from "../../parts/metric.tsx";
import { hasDevice, NoDevice, scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { useAsk } from "../../session/use-ask.ts";
import { QueueChart } from "./queue-chart.tsx";

export function Launches({ account }: { account: Account | undefined }) {
  const onDevice = hasDevice(account);
  const launches = useAsk<LaunchesAnswer>("launches", scoped(true), onDevice);
  if (!onDevice) return <NoDevice what="Launches are the calls with which the host submits work to a GPU." />;
  return (
    <Await of={launches}>
      {({ launches: rows, definitions }) =>
        rows.length === 0 ? (
          <Empty
            title="No launches in this selection."
            hint="Either these steps have no device work, or the calls that launched it were not recorded. Record CPU activity too."
          />
        ) : (
          <div class="card-column">
            {rows.map((row) => (
              <Device key={row.device} row={row} of={definitions} named={rows.length > 1} />
            ))}
          </div>
        )
      }
    </Await>
  );
}

function Device(props: { row: LaunchRow; of: Definitions; named: boolean }) {
  const { row, of } = props;
  return (
    <>
      <Card title={`Launches${props.named ? ` of device ${row.device}` : ""}`}>
        <div class="metrics">
          <Metric
            of={of}
            field="launch_bound_share"
            value={percent(row.launch_bound_share)}
            note="of step time"
            share={row.launch_bound_share}
          />
          <Metric
            of={of}
            field="short_kernels"
            value={percent(row.short_kernels / Math.max(1, row.kernels))}
            share={row.short_kernels / Math.max(1, row.kernels)}
            note={`${count(row.short_kernels)} of ${count(row.kernels)}, ${time(row.short_kernels_ns)} in total`}
          />
          <Metric
            of={of}
            field="dry_share"
            value={percent(row.dry_share)}
            note="of all launches"
            share={row.dry_share}
          />
          <Metric
            of={of}
            field="queue_mean"
            value={digits(row.queue_mean)}
            note={`on average, ${count(row.queue_max)} at peak`}
          />
          <Metric
            of={of}
            field="launches"
            value={count(row.launches)}
            note={`${time(row.calls_ns)} in launch calls`}
          />
        </div>
      </Card>
      {row.launches === 0 ? (
        <p class="quiet">The calls that launched this device's work were not recorded.</p>
      ) : (
        <Details {...props} />
      )}
    </>
  );
}

/** Durations side by side: what a kernel and its launch take, then how long work waited. */
const DURATIONS = [
  "kernel_p50_ns",
  "call_p50_ns",
  "latency_ns",
  "delay_p50_ns",
  "delay_p95_ns",
  "delay_max_ns",
] as const;

function Details({ row, of, named }: { row: LaunchRow; of: Definitions; named: boolean }) {
  return (
    <>
      <QueueChart device={row.device} text={definition(of, "queued")} named={named} />
      <Card title={`Durations${named ? `, device ${row.device}` : ""}`} note="log scale">
        <Lengths row={row} of={of} />
      </Card>
    </>
  );
}

/** Lengths of time that differ by powers of ten, side by side. */
function Lengths({ row, of }: { row: LaunchRow; of: Definitions }) {
  const known = DURATIONS.map((field) => row[field]).filter((ns) => ns > 0);
  const low = Math.min(...known) / 2;
  const high = Math.max(...known);
  return (
    <div class="versus-lengths">
      {DURATIONS.map((field) => (
        <div key={field}>
          <span>
            <Label of={of} field={field} />
          </span>
          <span class="versus-bar" aria-hidden="true">
            {row[field] > 0 && (
              <span
                class={field.startsWith("delay") ? "measured" : "predicted"}
                style={{ width: `${(Math.log(row[field] / low) / Math.log(high / low)) * 100}%` }}
              />
            )}
          </span>
          <strong class="num">{time(row[field])}</strong>
        </div>
      ))}
    </div>
  );
}
