// Calls that block the host until a device has caught up.

import type { Account } from "../../data/account.ts";
import { rowsOf } from "../../data/rows.ts";
import type { WaitRow, WaitsAnswer } from "../../data/wire.ts";
import { Facts, factOf } from "../../parts/facts.tsx";
import { count, digits, many, percent, time } from "../../parts/format.ts";
import { partOf, word } from "../../parts/key-names.ts";
import { Name, Stack, timelineColumn } from "../../parts/links.tsx";
import { Bar, type Definitions, definition, Metric } from "../../parts/metric.tsx";
import { hasDevice, NoDevice, scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { useOpenRow } from "../../session/open-row.ts";
import { useAsk } from "../../session/use-ask.ts";

export function WaitsTab({ account }: { account: Account | undefined }) {
  const onDevice = hasDevice(account);
  const waits = useAsk<WaitsAnswer>("waits", { ...scoped(false), top: 0 }, onDevice);
  if (!onDevice) return <NoDevice what="Waits are calls that block the host until a GPU has finished." />;
  return (
    <Await of={waits}>
      {(answer) =>
        answer.waits.length === 0 ? (
          <Empty
            title="The host never waited for a device in these steps."
            hint="They contain no synchronizing calls."
          />
        ) : (
          <Shown answer={answer} />
        )
      }
    </Await>
  );
}

function Shown({ answer }: { answer: WaitsAnswer }) {
  const [open, toggle] = useOpenRow();
  const definitions = answer.definitions;
  const text = (field: string) => definition(definitions, field);
  const { calls, wait_ns, steps, wall_ns } = answer.totals;
  const longest = Math.max(1, ...answer.waits.map((row) => row.wait_ns));
  const columns: Column<WaitRow>[] = [
    defined(definitions, "op", {
      align: "left",
      cell: (row) => (
        <>
          {row.op ? <Name name={row.op} /> : <span class="quiet">outside operators</span>}
          <span class="quiet">{row.op ? " in " : ": "}</span>
          <Name name={row.call} />
        </>
      ),
    }),
    defined(definitions, "kind", {
      width: "100px",
      cell: (row) => <span title={partOf(text("kind"), row.kind)}>{word(row.kind)}</span>,
    }),
    defined(definitions, "calls", { width: "72px" }),
    defined(definitions, "wait_ns", {
      width: "160px",
      cell: (row) => (
        <span class="share">
          {time(row.wait_ns)} <Bar share={row.wait_ns / longest} category={4} />
        </span>
      ),
    }),
    defined(definitions, "max_wait_ns", { width: "110px" }),
    timelineColumn((row) => ({
      start: row.longest_start_ns,
      length: Math.max(row.max_wait_ns, 1000),
      label: `Show the longest wait, ${time(row.max_wait_ns)}, on the timeline`,
    })),
  ];
  return (
    <div class="card-column">
      <Card title="Host waits" text={text("wait_ns")}>
        <div class="metrics">
          <Metric of={definitions} field="wait_ns" value={time(wait_ns)} />
          <Metric
            label="Share of step time"
            value={percent(wait_ns / Math.max(1, wall_ns))}
            note={`of ${time(wall_ns)}`}
            share={wait_ns / Math.max(1, wall_ns)}
            text="Wait time divided by the wall time of the steps. Waiting is not a loss in itself, since the device keeps working. It becomes one if the device then runs out of work because nothing was launched ahead."
          />
          <Metric of={definitions} field="calls" value={count(calls)} />
          <Metric of={definitions} field="calls_per_step" value={digits(calls / Math.max(1, steps))} />
        </div>
      </Card>
      <Card title="What waits" note="open a row to see the code">
        <Table
          label="Waits"
          columns={columns}
          rows={rowsOf(answer.waits)}
          open={open}
          onOpen={(_, index) => toggle(index)}
          detail={(row) => <Wait row={row} of={definitions} />}
        />
      </Card>
    </div>
  );
}

function Wait({ row, of }: { row: WaitRow; of: Definitions }) {
  return (
    <Facts
      of={[
        factOf(of, "op", <bdi>{row.op ?? "none"}</bdi>),
        ["Call", <bdi>{row.call}</bdi>],
        factOf(
          of,
          "total_ns",
          `${time(row.total_ns)} in ${many(row.calls, "call")}, ${digits(row.calls_per_step)} per step`,
        ),
        ["Python", <Stack frames={row.stack} />],
      ]}
    />
  );
}
