// Each change simulated alone: what would help most. A row adds its change to the plan or removes it.

import { rowsOf } from "../../data/rows.ts";
import type { ReplayRow, WhatIfAnswer } from "../../data/wire.ts";
import { shortName, time } from "../../parts/format.ts";
import { Name } from "../../parts/links.tsx";
import { Share } from "../../parts/metric.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { changeOf, holds, type Plan, toggled } from "./plan.ts";

export function Helpful(props: {
  answer: WhatIfAnswer;
  plan: Plan;
  /** None in a report: nothing can be replayed there. */
  set: ((plan: Plan) => void) | undefined;
}) {
  const { answer, plan, set } = props;
  const definitions = answer.definitions;
  const useful = answer.what_if.filter((row) => row.saves_ns !== 0);
  const useless = answer.what_if.filter((row) => row.saves_ns === 0);
  const most = Math.max(0, ...useful.map((row) => row.saves_share));
  const columns: Column<ReplayRow>[] = [
    {
      field: "change",
      label: "Change",
      align: "left",
      cell: (row) => <Name name={row.change} short={shortName(row.change)} />,
    },
    defined(definitions, "predicted_ns", { width: "90px" }),
    defined(definitions, "saves_ns", {
      width: "90px",
      cell: (row) => <span class={row.saves_ns < 0 ? "tone-bad" : "tone-good"}>{time(row.saves_ns)}</span>,
    }),
    defined(definitions, "saves_share", {
      width: "150px",
      cell: (row) => <Share share={row.saves_share} of={most} />,
    }),
  ];
  if (set) {
    columns.push({
      field: "set",
      label: "Try it",
      width: "92px",
      cell: (row) =>
        changeOf(row.change) && (
          <button
            type="button"
            class="what-if-row-button"
            aria-pressed={holds(plan, row.change)}
            aria-label={`${holds(plan, row.change) ? "Remove" : "Try"}: ${row.change}`}
            onClick={(event) => {
              event.stopPropagation();
              set(toggled(plan, row.change));
            }}
          >
            {holds(plan, row.change) ? "Remove" : "Try"}
          </button>
        ),
    });
  }
  return (
    <Card title="What would help most" note="each change alone; savings overlap">
      <Table
        label="What would help most"
        columns={columns}
        rows={rowsOf(useful)}
        {...(set ? { onOpen: (row: ReplayRow) => set(toggled(plan, row.change)) } : {})}
        empty={<Empty title="None of the common changes would save anything." />}
      />
      {useless.length > 0 && (
        <p class="side-note">
          No savings: <bdi>{useless.map((row) => row.change).join(", ")}</bdi>.
        </p>
      )}
      <p class="side-note">
        These are estimates: they assume that the host makes the same calls in the same order and that
        overlapping work does not slow down.
      </p>
    </Card>
  );
}
