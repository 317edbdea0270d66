// The targets: which are kept, what is left of their error budgets, how fast it goes.

import type { ServiceDashboard, TargetSeries } from "../../data/production-types.ts";
import { rowsOf } from "../../data/rows.ts";
import { FAST_BURN_TIMES, LOW_BUDGET_SHARE, SLOW_BURN_TIMES } from "../../data/wire.ts";
import { count, many, percent } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { definition, labelOf } from "../../parts/metric.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";

export function Targets({ of }: { of: ServiceDashboard }) {
  const { targets } = of;
  return (
    <Card
      title="Targets"
      text={definition(of.definitions, "missed")}
      note={
        targets.length > 0 &&
        `${count(targets.filter((one) => one.kept).length)} of ${count(targets.length)} kept`
      }
    >
      {targets.length === 0 ? (
        <Empty
          title="No targets are set."
          hint="With targets, missed requests are counted and the error budget is shown:"
          code={'ServiceMonitor("service",\n    sla={"/predict": "p95<100ms, error_rate<1%"})'}
        />
      ) : (
        <Table label="Targets" columns={columns(of)} rows={rowsOf(targets)} height={206} />
      )}
    </Card>
  );
}

function columns(of: ServiceDashboard): Column<TargetSeries>[] {
  const windows = of.targets[0]?.burn.map((one) => one.minutes) ?? [];
  return [
    {
      field: "target",
      label: "Target",
      align: "left",
      cell: (row) => (
        <span title={`${row.route} ${row.target}`}>
          <State row={row} /> <bdi>{row.target}</bdi> <bdi class="quiet">{row.route}</bdi>
        </span>
      ),
    },
    defined(of.definitions, "missed", {
      cell: (row) => (
        <span
          title={`${count(row.missed)} of ${many(row.requests, "request")}; ${percent(row.allowed)} allowed`}
        >
          {percent(row.missed / Math.max(1, row.requests))}
        </span>
      ),
    }),
    defined(of.definitions, "budget_left", { cell: (row) => <Budget left={row.budget_left} /> }),
    ...windows.map(
      (minutes, at): Column<TargetSeries> => ({
        field: `burn-${minutes}`,
        label: `${at === 0 ? `${labelOf(of.definitions, "rate")} ` : ""}${minutes < 60 ? `${minutes} m` : `${minutes / 60} h`}`,
        text: definition(of.definitions, "rate"),
        cell: (row) => <Rate value={row.burn[at]?.rate ?? null} />,
      }),
    ),
  ];
}

function State({ row }: { row: TargetSeries }) {
  const [look, icon, word] = row.alert
    ? (["tone-bad", "warn", `burning ${row.alert}`] as const)
    : row.kept
      ? (["tone-good", "check", "kept"] as const)
      : (["tone-bad", "close", "missed"] as const);
  return (
    <span class={look}>
      <Icon name={icon} size={14} />
      <span class="sr-only">{word}: </span>
    </span>
  );
}

/** What is left, as a bar; overdrawn it is empty, and the number says by how much. */
function Budget({ left }: { left: number | null }) {
  if (left === null) return <span class="quiet">none allowed</span>;
  const share = Math.max(0, Math.min(1, left));
  return (
    <span class="share">
      <span class={left < 0 ? "tone-bad" : undefined}>{percent(left)}</span>
      <span
        class={`bar sv-budget ${left <= 0 ? "gone" : left < LOW_BUDGET_SHARE ? "low" : ""}`}
        aria-hidden="true"
      >
        <span class="bar-fill" style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}

function Rate({ value }: { value: number | null }) {
  if (value === null) return <span class="quiet">–</span>;
  const look = value > FAST_BURN_TIMES ? "tone-bad" : value > SLOW_BURN_TIMES ? "sv-warn" : undefined;
  return <span class={look}>{value.toFixed(1)}</span>;
}
