// Why the device was idle: how much by kind and by cause, and the longest gaps.

import type { Account, StepsAnswer } from "../../data/account.ts";
import { rowsOf } from "../../data/rows.ts";
import type { CulpritRow, GapsAnswer, StreamGapsRow } from "../../data/wire.ts";
import { Stacked } from "../../parts/charts/stacked.tsx";
import { count, percent, shortName, time } from "../../parts/format.ts";
import { cause, gapKind, partOf } from "../../parts/key-names.ts";
import { Name } from "../../parts/links.tsx";
import { definition, Metric, Share } from "../../parts/metric.tsx";
import { hasDevice, NoDevice, scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { useAsk } from "../../session/use-ask.ts";
import { IdleStrip } from "./chart.tsx";
import { Longest } from "./longest.tsx";

/** Enough to draw; a note says how many are missing. */
const MAX_GAPS = 2000;

export function Idle({ account }: { account: Account | undefined }) {
  const onDevice = hasDevice(account);
  const options = scoped(true);
  const gaps = useAsk<GapsAnswer>("gaps", { ...options, top: MAX_GAPS }, onDevice);
  const causes = useAsk<Account>("account", options, onDevice);
  const steps = useAsk<StepsAnswer>("steps", scoped(false), onDevice);
  if (!onDevice) return <NoDevice what="Idle time is time when a GPU has nothing to do." />;
  return (
    <Await of={gaps}>
      {(answer) =>
        answer.totals.gaps === 0 ? (
          <Empty title="The device was never idle in these steps." hint="It always had work." />
        ) : (
          <div class="card-column">
            <Totals answer={answer} />
            <div class="card-pair">
              <Kinds answer={answer} />
              <Await of={causes}>{(data) => <Causes account={data} />}</Await>
            </div>
            <IdleStrip gaps={answer.gaps} totals={answer.totals} steps={steps.data?.steps ?? []} />
            <Culprits answer={answer} />
            <Longest answer={answer} />
            <Streams answer={answer} />
          </div>
        )
      }
    </Await>
  );
}

function Totals({ answer }: { answer: GapsAnswer }) {
  const { gaps, idle_ns, wall_ns } = answer.totals;
  const devices = new Set(answer.kinds.map((row) => row.device)).size;
  const longest = Math.max(0, ...answer.kinds.map((row) => row.max_ns));
  const text = definition(answer.definitions, "idle_ns");
  return (
    <Card title="Device idle time" text={text}>
      <div class="metrics">
        <Metric of={answer.definitions} field="idle_ns" value={time(idle_ns)} />
        <Metric
          label="Share of step time"
          value={percent(idle_ns / Math.max(1, wall_ns))}
          text={`Idle time divided by the wall time of the steps${devices > 1 ? ", across all devices" : ""}.`}
          note={`of ${time(wall_ns)}`}
          share={idle_ns / Math.max(1, wall_ns)}
        />
        <Metric of={answer.definitions} field="gaps" value={count(gaps)} />
        <Metric of={answer.definitions} field="max_ns" value={time(longest)} />
      </div>
    </Card>
  );
}

function Kinds({ answer }: { answer: GapsAnswer }) {
  const text = definition(answer.definitions, "kind");
  const counts = new Map<string, number>();
  for (const row of answer.kinds) counts.set(row.kind, (counts.get(row.kind) ?? 0) + row.gaps);
  return (
    <Card title="By kind of gap" text={text}>
      <Stacked
        label="Idle time by kind of gap"
        counts={counts}
        pieces={answer.kinds.map((row) => ({
          key: row.kind,
          ...gapKind(row.kind),
          value: row.idle_ns,
          text: partOf(text, row.kind),
        }))}
      />
    </Card>
  );
}

function Causes({ account }: { account: Account }) {
  const text = (key: string) =>
    definition(account.definitions, `${key}_ns`) ??
    (key.startsWith("host_") ? definition(account.definitions, "host_…_ns") : undefined);
  return (
    <Card title="By cause" text={definition(account.definitions, "total_ns")}>
      <Stacked
        label="Idle time by cause"
        pieces={account.causes
          .filter((row) => !row.busy)
          .map((row) => ({
            key: row.cause,
            ...cause(row.cause),
            value: row.total_ns,
            text: text(row.cause),
          }))}
      />
    </Card>
  );
}

function Culprits({ answer }: { answer: GapsAnswer }) {
  const most = Math.max(0, ...answer.culprits.map((row) => row.share));
  const definitions = answer.definitions;
  const columns: Column<CulpritRow>[] = [
    defined(definitions, "culprit", {
      align: "left",
      cell: (row) => <Name name={row.culprit} short={shortName(row.culprit)} />,
    }),
    defined(definitions, "cause", { align: "left", width: "220px", cell: (row) => cause(row.cause).label }),
    defined(definitions, "pieces", { width: "90px" }),
    defined(definitions, "idle_ns", { width: "90px" }),
    defined(definitions, "share", { width: "150px", cell: (row) => <Share share={row.share} of={most} /> }),
  ];
  return (
    <Card title="What keeps the device waiting" text={definition(definitions, "culprit")}>
      <Table label="Causes of idle time" columns={columns} rows={rowsOf(answer.culprits)} height={300} />
    </Card>
  );
}

function Streams({ answer }: { answer: GapsAnswer }) {
  if (answer.streams.length < 2) return null;
  const number = (field: keyof StreamGapsRow & string) => defined<StreamGapsRow>(answer.definitions, field);
  const columns: Column<StreamGapsRow>[] = [
    { field: "stream", label: "Stream", align: "left", cell: (row) => `${row.stream} of device ${row.device}` },
    number("slices"),
    number("busy_ns"),
    number("host_wait_ns"),
    number("kernel_wait_ns"),
    number("other_ns"),
  ];
  return (
    <Card title="By stream" note="whole trace">
      <Table label="Streams" columns={columns} rows={rowsOf(answer.streams)} height={240} />
    </Card>
  );
}
