// Instructions of compiled programs: one table, grouped, sorted and filtered by the server; below an opened row, its place in
// the program.

import { Browse, browseOptions, changeTable } from "../../parts/browse.tsx";
import { Choice } from "../../parts/choice.tsx";
import { chosenFields } from "../../parts/columns.tsx";
import { exactly } from "../../parts/filter.tsx";
import { many, percent, time } from "../../parts/format.ts";
import { type Definitions, Label } from "../../parts/metric.tsx";
import { Proportion } from "../../parts/proportion.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { useRows } from "../../session/use-rows.ts";
import { choices, columns } from "./columns.tsx";
import { Detail } from "./detail.tsx";
import "./style.css";
import type { HloAnswer, InstructionRow, InstructionsTotals } from "../../data/wire.ts";
import { GROUPS, type Group } from "./columns.tsx";

const TOP_ROWS = 12;

const NAMES: Record<Group, { name: string; text: string }> = {
  instruction: { name: "By instruction", text: "One row per instruction of a program." },
  category: { name: "By category", text: "One row per kind of work." },
  line: { name: "By line", text: "One row per line of your source code." },
  path: { name: "By path", text: "One row per place in the framework's own naming." },
  program: { name: "By program", text: "One row per compiled program." },
};

export function Hlo() {
  const by: Group = GROUPS.find((group) => group === param("by")) ?? "instruction";
  const chosen = { step: param("step"), device: param("device"), program: param("program") };
  const options = { ...browseOptions<Group>(by, "instruction"), ...chosen };
  const table = useRows<InstructionRow>("hlo", "instructions", options);
  // Names of instructions say little in a bar; what kinds of work there are says more.
  const parts = by === "instruction" ? "category" : by;
  const largest = useAsk<HloAnswer>("hlo", { by: parts, top: TOP_ROWS, ...chosen });
  const first = useAsk<HloAnswer>("hlo", { by: by === "instruction" ? undefined : by, top: 1, ...chosen });
  const rows = largest.data?.instructions ?? [];
  const totals = largest.data?.totals;
  const all = choices(
    by,
    rows.some((row) => row.of_peak_bandwidth !== null),
  );
  return (
    <Browse
      view="hlo"
      barsLabel="Where the time of compiled programs goes"
      bars={
        totals && (
          <Proportion
            label="HLO"
            total_ns={
              totals.device_named_ns + totals.device_unnamed_ns || totals.host_named_ns + totals.host_unnamed_ns
            }
            portions={rows.map((row) => ({ name: row.name, ns: row.self_ns }))}
            onPick={(name) => setParams({ by: parts, filter: exactly(name), open: 0, node: undefined })}
          />
        )
      }
      grouping={
        <>
          <Choice
            label="Group"
            value={by}
            options={GROUPS.map((value) => ({ value, ...NAMES[value] }))}
            onChange={(value) =>
              changeTable({
                by: value === "instruction" ? undefined : value,
                sort: undefined,
                cols: undefined,
                node: undefined,
              })
            }
          />
          {chosen.program !== undefined && (
            <button type="button" class="button" onClick={() => changeTable({ program: undefined })}>
              Program {chosen.program} ✕
            </button>
          )}
        </>
      }
      table={table}
      label={NAMES[by].name}
      command="hlo"
      options={options}
      choices={all}
      columns={columns(chosenFields(all, param("cols")), by, first.data?.instructions[0]?.share ?? 1)}
      usualSort="self_ns"
      detail={(row) => <Detail key={`${row.name}-${row.program_id}`} row={row} by={by} />}
      empty={{
        title: "No instruction of a compiled program ran here.",
        hint: "Profiles of JAX, and of TensorFlow functions that XLA compiles, have them:",
        code: "jax.profiler.trace(logdir)",
      }}
      ledger={(shown) => totals && <Sums rows={shown} totals={totals} of={table.answer?.definitions} />}
    />
  );
}

function Sums({ rows, totals, of }: { rows: number; totals: InstructionsTotals; of: Definitions }) {
  const device = totals.device_named_ns + totals.device_unnamed_ns;
  const sum = (field: keyof InstructionsTotals, value: string, warned = false) => (
    <span class={warned ? "warned" : undefined}>
      <Label of={of} field={field} /> <b class="num">{value}</b>
    </span>
  );
  return (
    <footer class="ledger">
      <span>{many(rows, "row")}</span>
      {totals.device_named_ns > 0 && sum("device_named_ns", time(totals.device_named_ns))}
      {totals.device_by_order_ns > 0 &&
        sum("device_by_order_ns", percent(totals.device_by_order_ns / Math.max(1, device)))}
      {totals.device_unnamed_ns > 0 &&
        totals.device_named_ns > 0 &&
        sum("device_unnamed_ns", time(totals.device_unnamed_ns), true)}
      {totals.host_named_ns > 0 && sum("host_named_ns", time(totals.host_named_ns))}
    </footer>
  );
}
