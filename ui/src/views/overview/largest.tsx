// The operators and kernels that take most time: a taste of the tables, and the way to them.

import { Bar, definition } from "../../parts/figure.tsx";
import { exactly } from "../../parts/filter.tsx";
import { percent, shortName, time } from "../../parts/format.ts";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { href, param } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import type { KernelsAnswer, OpsAnswer } from "./types.ts";

const ROWS = 8;

interface Line {
  name: string;
  ns: number;
}

/** By time on the device, or on the host where there is no device. */
export function LargestOperators({ host }: { host: boolean }) {
  const field = host ? "host_self_ns" : "device_self_ns";
  const options = { step: param("step"), device: host ? undefined : param("device"), sort: field, top: ROWS };
  const answer = useAsk<OpsAnswer>("ops", options);
  return (
    <Await of={answer}>
      {(data) => (
        <Largest
          title={host ? "Top operators by host time" : "Top operators by device time"}
          text={definition(data.definitions, field)}
          view="operators"
          lines={data.ops.map((row) => ({ name: row.name, ns: row[field] }))}
          total={host ? data.totals.total_host_self_ns : data.totals.total_device_self_ns}
          sort={field}
        />
      )}
    </Await>
  );
}

export function LargestKernels() {
  const answer = useAsk<KernelsAnswer>("kernels", {
    step: param("step"),
    device: param("device"),
    sort: "total_ns",
    top: ROWS,
  });
  return (
    <Await of={answer}>
      {(data) => (
        <Largest
          title="Top kernels"
          text={definition(data.definitions, "total_ns")}
          view="kernels"
          lines={(data.kernels ?? []).map((row) => ({ name: row.name, ns: row.total_ns }))}
          total={data.totals.kernel_ns}
          sort="total_ns"
        />
      )}
    </Await>
  );
}

function Largest(props: {
  title: string;
  text: string | undefined;
  view: string;
  lines: Line[];
  total: number;
  sort: string;
}) {
  const lines = props.lines.filter((line) => line.ns > 0);
  const most = lines[0]?.ns ?? 1;
  return (
    <Card
      title={props.title}
      text={props.text}
      note={
        <a class="quiet-link" href={href(props.view, { sort: props.sort })}>
          See all
        </a>
      }
    >
      {lines.length === 0 ? (
        <Empty title="None recorded." />
      ) : (
        <table class="plain" aria-label={props.title}>
          <tbody>
            {lines.map((line) => (
              <tr key={line.name}>
                <td class="name">
                  <a href={href(props.view, { filter: exactly(line.name), open: 0 })} title={line.name}>
                    <bdi>{shortName(line.name)}</bdi>
                  </a>
                </td>
                <td class="num">{time(line.ns)}</td>
                <td class="num">
                  <span class="share">
                    {props.total > 0 ? percent(line.ns / props.total) : ""} <Bar share={line.ns / most} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
