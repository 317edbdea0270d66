// The program's own functions: host time, waiting for the device and the device time they launched.

import type { CodeAnswer, CodeRow } from "../../data/wire.ts";
import { Browse, type BrowseColumn, browseOptions, changeTable, dash, valueCell } from "../../parts/browse.tsx";
import { Choice } from "../../parts/choice.tsx";
import { type ColumnChoice, chosenFields } from "../../parts/columns.tsx";
import { count, many, time } from "../../parts/format.ts";
import { labelOf, Share } from "../../parts/metric.tsx";
import { Proportion } from "../../parts/proportion.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { useRows } from "../../session/use-rows.ts";

const TOP_ROWS = 12;
const GROUPS = ["function", "call"] as const;
type Group = (typeof GROUPS)[number];

const NAMES: Record<Group, { name: string; text: string }> = {
  function: { name: "By function", text: "One row per function of your program." },
  call: { name: "By call", text: "One row per function and what it called." },
};

function choices(by: Group): ColumnChoice[] {
  const usual = (field: string) => ({ field, usual: true });
  return [
    { field: "function", usual: true, fixed: true },
    ...(by === "call" ? [{ field: "called", label: "Calls", usual: true }] : []),
    ...["host_ns", "wait_ns", "wait_share", "device_ns", "device_share"].map(usual),
    ...["backward_device_ns", "device_work", "calls"].map((field) => ({ field, usual: false })),
  ];
}

export function Code() {
  const by: Group = GROUPS.find((group) => group === param("by")) ?? "function";
  const chosen = { step: param("step"), device: param("device") };
  const options = { ...browseOptions<Group>(by, "function"), ...chosen };
  const table = useRows<CodeRow>("code", "code", options);
  const largest = useAsk<CodeAnswer>("code", { sort: "device_ns", top: TOP_ROWS, ...chosen });
  const all = choices(by);
  return (
    <Browse
      view="code"
      barsLabel="Which code makes the device work"
      bars={
        largest.data && (
          <Proportion
            label={labelOf(largest.data.definitions, "device_ns")}
            total_ns={largest.data.device_ns}
            portions={largest.data.code.map((row) => ({ name: row.function, ns: row.device_ns }))}
            onPick={(name) => setParams({ filter: `^${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$` })}
          />
        )
      }
      grouping={
        <Choice
          label="Group"
          value={by}
          options={GROUPS.map((value) => ({ value, ...NAMES[value] }))}
          onChange={(value) => changeTable({ by: value === "function" ? undefined : value, cols: undefined })}
        />
      }
      table={table}
      label="Code"
      command="code"
      options={options}
      choices={all}
      columns={columns(chosenFields(all, param("cols")))}
      usualSort="wait_ns"
      detail={(row) => <Detail row={row} />}
      empty={{
        title: "No Python functions in this trace.",
        hint: "Record stacks too:",
        code: "profile(with_stack=True)",
      }}
      ledger={(rows) =>
        largest.data && (
          <footer class="ledger">
            <span>{many(rows, "row")}</span>
            <span>
              device <b class="num">{time(largest.data.device_ns)}</b>
            </span>
            <span>
              waiting <b class="num">{time(largest.data.wait_ns)}</b>
            </span>
          </footer>
        )
      }
    />
  );
}

function Detail({ row }: { row: CodeRow }) {
  const of = row.called ?? "its own code";
  return (
    <p>
      <b>{row.function}</b> {row.file && <SourceLink file={row.file} line={row.line} />}: {of}.{" "}
      {many(row.calls, "call")}, {time(row.host_ns)} on the host, {time(row.wait_ns)} of it waiting;{" "}
      {time(row.device_ns)} of device time in {count(row.device_work)} kernels and copies,{" "}
      {time(row.backward_device_ns)} of it in the backward pass.
    </p>
  );
}

function columns(fields: string[]): BrowseColumn<CodeRow>[] {
  return fields.map((field) => {
    if (field === "function")
      return {
        field,
        align: "left",
        cell: (row) => (
          <>
            <bdi class="mono-name">{row.function}</bdi>{" "}
            {row.file && <SourceLink file={row.file} line={row.line} />}
          </>
        ),
      };
    if (field === "called")
      return {
        field,
        label: "Calls",
        align: "left",
        width: "220px",
        cell: (row) => {
          if (row.file === null) return dash;
          return row.called ? <bdi title={row.called}>{row.called.replace(/^<|>$/g, "")}</bdi> : "its own code";
        },
      };
    const column = { field, width: field.endsWith("share") ? "120px" : "104px" };
    if (field === "wait_share" || field === "device_share")
      return { ...column, cell: (row: CodeRow) => <Share share={row[field]} /> };
    return { ...column, cell: (row: CodeRow) => valueCell(field, row[field as keyof CodeRow]) };
  });
}
