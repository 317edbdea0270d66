// Kernels, copies and memsets: one table, grouped, sorted and filtered by the server.

import type { Answer } from "../../data/types.ts";
import { Browse, browseOptions, changeTable } from "../../parts/browse.tsx";
import { Choice } from "../../parts/choice.tsx";
import { chosenFields } from "../../parts/columns.tsx";
import { Defined, definition } from "../../parts/figure.tsx";
import { exactly } from "../../parts/filter.tsx";
import { count, time } from "../../parts/format.ts";
import { Proportion } from "../../parts/proportion.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { useRows } from "../../session/use-rows.ts";
import { choices, columns } from "./columns.tsx";
import { Detail } from "./detail.tsx";
import { GROUPS, type Group, type KernelsAnswer, type KernelTotals, type Row } from "./types.ts";

const TOP = 12;

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
  const largest = useAsk<KernelsAnswer>("kernels", { top: TOP, ...chosen });
  const totals = answer?.totals as KernelTotals | undefined;
  const all = choices(by);
  const text = (field: string) => textOf(answer, field, by);
  const shown = columns(chosenFields(all, param("cols")), largest.data?.kernels[0]?.share ?? 1, text);
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
      columns={shown}
      usualSort="total_ns"
      detail={(row) => <Detail key={row.name} row={row} by={by} />}
      empty={{
        title: by === "copies" ? "No copies or memsets in this trace." : "No kernels in this trace.",
        hint: "Record GPU activity too, on a machine with a GPU:",
        code: RECORD,
      }}
      ledger={(rows) => totals && <Sums rows={rows} totals={totals} text={text} />}
    />
  );
}

/** Kernels and copies define the same fields; those of copies come second. */
function textOf(answer: Answer | undefined, field: string, by: Group): string | undefined {
  const all = answer?.definitions?.filter((d) => d.field === field) ?? [];
  return (by === "copies" ? all[all.length - 1] : all[0])?.text ?? definition(answer?.definitions, field);
}

function Sums(props: { rows: number; totals: KernelTotals; text: (field: string) => string | undefined }) {
  const { totals } = props;
  return (
    <footer class="ledger">
      <span>{count(props.rows)} rows</span>
      <span>
        {count(totals.kernel_calls)} kernels <b class="num">{time(totals.kernel_ns)}</b>
      </span>
      {totals.unlinked_ns > 0 && (
        <span class="warned">
          <Defined text={props.text("unlinked_ns")}>without operator</Defined>{" "}
          <b class="num">{time(totals.unlinked_ns)}</b>
        </span>
      )}
      {totals.memcpy_ns > 0 && (
        <span>
          memcpy <b class="num">{time(totals.memcpy_ns)}</b>
        </span>
      )}
      {totals.memset_ns > 0 && (
        <span>
          memset <b class="num">{time(totals.memset_ns)}</b>
        </span>
      )}
    </footer>
  );
}
