// Whether the host keeps up: what launches cost, how full the queue is, how many kernels are too short.

import type { Account } from "../../data/account.ts";
import type { Definition } from "../../data/types.ts";
import { Defined, definition, Figure } from "../../parts/figure.tsx";
import { count, digits, percent, time } from "../../parts/format.ts";
import { hasDevice, NoDevice, scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { useAsk } from "../../session/use-ask.ts";
import { QueueChart } from "./queue-chart.tsx";
import type { LaunchesAnswer, LaunchRow } from "./types.ts";

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
              <Device key={row.device} row={row} definitions={definitions} named={rows.length > 1} />
            ))}
          </div>
        )
      }
    </Await>
  );
}

function Device(props: { row: LaunchRow; definitions: Definition[] | undefined; named: boolean }) {
  const { row } = props;
  const text = (field: string) => definition(props.definitions, field);
  const of = props.named ? ` of device ${row.device}` : "";
  return (
    <>
      <Card title={`Launches${of}`}>
        <div class="figures">
          <Figure
            label="Launch-bound"
            value={percent(row.launch_bound_share)}
            note="of step time"
            share={row.launch_bound_share}
            text={text("launch_bound_share")}
          />
          <Figure
            label="Short kernels"
            value={percent(row.short_kernels / Math.max(1, row.kernels))}
            share={row.short_kernels / Math.max(1, row.kernels)}
            note={`${count(row.short_kernels)} of ${count(row.kernels)}, ${time(row.short_kernels_ns)} in total`}
            text={text("short_kernels")}
          />
          <Figure
            label="Empty-stream launches"
            value={percent(row.dry_share)}
            note="of all launches"
            share={row.dry_share}
            text={text("dry_share")}
          />
          <Figure
            label="Queue depth"
            value={digits(row.queue_mean)}
            note={`on average, ${count(row.queue_max)} at peak`}
            text={text("queue_mean")}
          />
          <Figure
            label="Launches"
            value={count(row.launches)}
            note={`${time(row.calls_ns)} in launch calls`}
            text={text("launches")}
          />
        </div>
      </Card>
      {row.launches === 0 ? (
        <p class="quiet">The calls that launched this device's work were not recorded.</p>
      ) : (
        <Details row={row} text={text} named={props.named} />
      )}
    </>
  );
}

function Details(props: { row: LaunchRow; text: (field: string) => string | undefined; named: boolean }) {
  const { row, text } = props;
  return (
    <>
      <QueueChart device={row.device} text={text("queued")} named={props.named} />
      <Card title={`Durations${props.named ? `, device ${row.device}` : ""}`} note="log scale">
        <Lengths
          rows={[
            {
              label: "Kernel, median",
              ns: row.kernel_p50_ns,
              text: text("kernel_p50_ns"),
            },
            {
              label: "Launch call, median",
              ns: row.call_p50_ns,
              text: text("call_p50_ns"),
            },
            { label: "Launch latency", ns: row.latency_ns, text: text("latency_ns") },
            { label: "Delay, median", ns: row.delay_p50_ns, text: text("delay_p50_ns") },
            { label: "Delay, p95", ns: row.delay_p95_ns, text: text("delay_p95_ns") },
            { label: "Delay, max", ns: row.delay_max_ns, text: text("delay_max_ns") },
          ]}
        />
      </Card>
    </>
  );
}

/** Lengths of time that differ by powers of ten, side by side. */
function Lengths({ rows }: { rows: { label: string; ns: number; text: string | undefined }[] }) {
  const known = rows.flatMap((row) => (row.ns > 0 ? [row.ns] : []));
  const low = Math.min(...known) / 2;
  const high = Math.max(...known);
  return (
    <div class="versus-lengths">
      {rows.map((row) => (
        <div key={row.label}>
          <span>
            <Defined text={row.text}>{row.label}</Defined>
          </span>
          <span class="versus-bar" aria-hidden="true">
            {row.ns > 0 && (
              <span
                class={row.label.startsWith("Delay") ? "measured" : "predicted"}
                style={{ width: `${(Math.log(row.ns / low) / Math.log(high / low)) * 100}%` }}
              />
            )}
          </span>
          <strong class="num">{time(row.ns)}</strong>
        </div>
      ))}
    </div>
  );
}
