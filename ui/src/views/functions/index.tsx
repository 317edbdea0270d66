// Functions of a profile, or of the Python calls and samples of a trace: one table, with callers and callees below a row.

import type { FunctionsAnswer, FunctionsCallees, FunctionsCallers } from "../../data/wire.ts";
import { Browse, type BrowseColumn, browseOptions, dash, valueCell } from "../../parts/browse.tsx";
import { chosenFields } from "../../parts/columns.tsx";
import { amount, many, type Unit } from "../../parts/format.ts";
import { Share } from "../../parts/metric.tsx";
import { Proportion } from "../../parts/proportion.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { useRows } from "../../session/use-rows.ts";
import { choicesOf, type EdgeRow, exactFunction, type FunctionRow, own, total } from "./rows.ts";
import "./style.css";

const TOP_ROWS = 12;
const TOP_EDGES = 12;

export function Functions() {
  const options = browseOptions("", "");
  const table = useRows<FunctionRow>("functions", "functions", options);
  const largest = useAsk<FunctionsAnswer>("functions", { top: TOP_ROWS });
  const unit = largest.data?.unit ?? "nanoseconds";
  const all = choicesOf(largest.data?.functions ?? [], unit);
  const shown = columns(chosenFields(all, param("cols")), unit);
  const usual = all.find((column) => column.field.startsWith("self_") && column.usual)?.field ?? "total_ns";
  return (
    <Browse
      view="functions"
      barsLabel="Functions with the most of their own"
      bars={
        largest.data && (
          <Proportion
            label="Self"
            total_ns={largest.data.total}
            portions={largest.data.functions.map((row) => ({ name: row.name, ns: own(row) }))}
            onPick={(name) => setParams({ filter: `^${escaped(name)}$`, open: 0 })}
          />
        )
      }
      grouping={null}
      table={table}
      label="Functions"
      command="functions"
      options={options}
      choices={all}
      columns={shown}
      usualSort={usual}
      detail={(row) => <Detail key={`${row.name} ${row.file} ${row.line}`} row={row} unit={unit} />}
      empty={{ title: "No functions here.", hint: "Record them with:", code: "stepscope run script.py" }}
      ledger={(rows) => (
        <footer class="ledger">
          <span>{many(rows, "function")}</span>
          <span>
            in total <b class="num">{largest.data && amount(largest.data.total, unit)}</b>
          </span>
        </footer>
      )}
    />
  );
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function columns(fields: string[], unit: Unit): BrowseColumn<FunctionRow>[] {
  return fields.map((field) => {
    if (field === "name")
      return {
        field,
        label: "Function",
        align: "left",
        cell: (row) => (
          <bdi class="mono-name" title={row.name}>
            {row.name}
          </bdi>
        ),
      };
    if (field === "file")
      return {
        field,
        label: "Where",
        align: "left",
        width: "240px",
        cell: (row) => (row.file ? <SourceLink file={row.file} line={row.line} /> : dash),
      };
    const column = { field, width: field.endsWith("share") ? "120px" : "104px" };
    if (field === "self_share" || field === "total_share")
      return { ...column, cell: (row: FunctionRow) => <Share share={row[field]} /> };
    if (field.endsWith("_samples"))
      return { ...column, cell: (row: FunctionRow) => amount(Number(row[field as "self_samples"] ?? 0), unit) };
    return { ...column, cell: (row: FunctionRow) => valueCell(field, row[field as keyof FunctionRow]) };
  });
}

/** Who called a function and what it called. */
function Detail({ row, unit }: { row: FunctionRow; unit: Unit }) {
  const pattern = exactFunction(row);
  const callers = useAsk<FunctionsCallers>("functions", { callers: pattern, top: TOP_EDGES });
  const callees = useAsk<FunctionsCallees>("functions", { callees: pattern, top: TOP_EDGES });
  return (
    <div class="two-columns">
      <Await of={callers}>
        {(data) => <Edges title="Callers" rows={data.callers} side="caller" unit={unit} />}
      </Await>
      <Await of={callees}>
        {(data) => <Edges title="Callees" rows={data.callees} side="callee" unit={unit} />}
      </Await>
    </div>
  );
}

function Edges(props: { title: string; rows: EdgeRow[]; side: "caller" | "callee"; unit: Unit }) {
  const { rows, side, unit } = props;
  const most = Math.max(1, ...rows.map(total));
  return (
    <Card title={props.title}>
      {rows.length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <table class="plain" aria-label={props.title}>
          <tbody>
            {rows.map((row) => {
              const name = side === "caller" ? row.caller : row.callee;
              const place = side === "caller" ? row.caller_place : row.callee_place;
              return (
                <tr key={`${name} ${place}`}>
                  <td class="name">
                    <a href={link(name)} title={place}>
                      <bdi>{name}</bdi>
                    </a>
                  </td>
                  {row.calls !== null && <td class="num">{many(row.calls, "call")}</td>}
                  <td class="num">{amount(total(row), unit)}</td>
                  <td class="num">
                    <Share share={total(row) / most} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Card>
  );

  function link(name: string): string {
    const search = new URLSearchParams({ filter: `^${escaped(name)}$`, open: "0" });
    const run = param("run");
    if (run !== undefined) search.set("run", run);
    return `#/functions?${search}`;
  }
}
