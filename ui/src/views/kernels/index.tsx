// Kernels, copies and memsets: one table, grouped, sorted and filtered by the server.

import type { KernelsAnswer, KernelsTotals } from "../../data/wire.ts";
import { Browse, browseOptions, changeTable } from "../../parts/browse.tsx";
import { Choice } from "../../parts/choice.tsx";
import { chosenFields } from "../../parts/columns.tsx";
import { exactly } from "../../parts/filter.tsx";
import { many, time } from "../../parts/format.ts";
import { type Definitions, Label } from "../../parts/metric.tsx";
import { Proportion } from "../../parts/proportion.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { useRows } from "../../session/use-rows.ts";
import { choices, columns, GROUPS, type Group, type Row } from "./columns.tsx";
import { Detail } from "./detail.tsx";

const TOP_ROWS = 12;

const GROUP_NAMES: Record<Group, { name: string; text: string }> = {
  name: { name: "By name", text: "One row per kernel." },
  op: { name: "By operator", text: "One row per kernel and launching operator." },
  launch: {
    name: "By launch",
    text: "One row per kernel, operator, grid, block, registers and shared memory.",
  },
  stream: { name: "By stream", text: "One row per kernel, device and stream." },
  copies: { name: "Memcpy and memset", text: "Copies and memsets by kind, with bytes and bandwidth." },
};

const RECORD = "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])";

export function Kernels() {
  const by: Group = GROUPS.find((g) => g === param("by")) ?? "name";
  const chosen = { step: param("step"), device: param("device") };
  const options = { ...browseOptions<Group>(by, "name"), ...chosen };
  const part = by === "copies" ? "copies" : "kernels";
  const table = useRows<Row>("kernels", part, options);
  const { answer } = table;
  const largest = useAsk<KernelsAnswer>("kernels", { top: TOP_ROWS, ...chosen });
  const totals = answer?.totals as KernelsTotals | undefined;
  const all = choices(by);
  // Kernels and copies define the same fields; those of copies come second.
  const definitions = by === "copies" ? answer?.definitions?.slice().reverse() : answer?.definitions;
  return (
    <Browse
      view="kernels"
      barsLabel="Where kernel time goes"
      bars={
        largest.data && (
          <Proportion
            label="Kernels"
            total_ns={largest.data.totals.kernel_ns}
            portions={largest.data.kernels.map((row) => ({ name: row.name, ns: row.total_ns }))}
            onPick={(name) => setParams({ by: undefined, filter: exactly(name), open: 0 })}
          />
        )
      }
      grouping={
        <Choice
          label="Group"
          value={by}
          options={GROUPS.map((value) => ({ value, ...GROUP_NAMES[value] }))}
          onChange={(value) =>
            changeTable({ by: value === "name" ? undefined : value, sort: undefined, cols: undefined })
          }
        />
      }
      table={table}
      label={GROUP_NAMES[by].name}
      command="kernels"
      options={options}
      choices={all}
      columns={columns(chosenFields(all, param("cols")), largest.data?.kernels[0]?.share ?? 1)}
      definitions={definitions}
      usualSort="total_ns"
      detail={(row) => <Detail key={row.name} row={row} by={by} />}
      empty={{
        title: by === "copies" ? "No copies or memsets in this trace." : "No kernels in this trace.",
        hint: "Record GPU activity too, on a machine with a GPU:",
        code: RECORD,
      }}
      ledger={(rows) => totals && <Sums rows={rows} totals={totals} of={definitions} />}
    />
  );
}

function Sums({ rows, totals, of }: { rows: number; totals: KernelsTotals; of: Definitions }) {
  return (
    <footer class="ledger">
      <span>{many(rows, "row")}</span>
      <span>
        {many(totals.kernel_calls, "kernel")} <b class="num">{time(totals.kernel_ns)}</b>
      </span>
      {totals.unlinked_ns > 0 && (
        <span class="warned">
          <Label of={of} field="unlinked_ns" /> <b class="num">{time(totals.unlinked_ns)}</b>
        </span>
      )}
      {(["memcpy", "memset"] as const).map(
        (what) =>
          totals[`${what}_ns`] > 0 && (
            <span key={what}>
              {what} <b class="num">{time(totals[`${what}_ns`])}</b>
            </span>
          ),
      )}
    </footer>
  );
}
