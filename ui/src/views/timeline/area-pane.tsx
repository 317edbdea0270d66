// What an area holds: time by name, how busy its rows are.

import { useMemo, useState } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { Area, AreaName } from "../../data/types.ts";
import { count, many, percent, shortName, time } from "../../parts/format.ts";
import { Bar, Defined } from "../../parts/metric.tsx";
import { Await } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useLoaded } from "../../session/use-ask.ts";
import type { Controller } from "./controller.ts";
import type { Model } from "./model.ts";
import type { AreaChoice } from "./url-state.ts";

/** While it is dragged, an area is asked about when it rests. */
const WAIT_MS = 100;

interface Props {
  model: Model;
  area: AreaChoice;
  controller: Controller;
}

export function AreaPane({ model, area, controller }: Props) {
  const key = `area-${model.run}-${area.from}-${area.to}-${area.rows.join()}`;
  const answer = useLoaded(key, async (signal) => {
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    signal.throwIfAborted();
    return model.source.area(model.run, area.from, area.to, area.rows, signal);
  });
  return (
    <article class="tl-area">
      <Await of={answer}>{(data) => <Found area={data} model={model} controller={controller} />}</Await>
    </article>
  );
}

type SortField = "name" | "count" | "total_ns" | "self_ns";

function Found({ area, model, controller }: { area: Area; model: Model; controller: Controller }) {
  const [sort, setSort] = useState<SortField>("self_ns");
  const names = useMemo(() => sorted(area.names, sort), [area, sort]);
  const most = Math.max(...area.names.map((name) => name.share), 1e-12);
  const columns: Column<AreaName>[] = [
    {
      field: "name",
      label: "Name",
      align: "left",
      cell: (row) => (
        <span title={row.name.slice(0, 1000)}>
          <span class={`swatch cat-${row.category}`} /> <bdi>{shortName(row.name)}</bdi>
        </span>
      ),
    },
    { field: "count", label: "Count", width: "90px", text: "Slices that touch the area." },
    {
      field: "total_ns",
      label: "Total",
      width: "110px",
      text: "Time inside the area, nested slices included.",
    },
    { field: "self_ns", label: "Self", width: "110px", text: "Time inside the area and in no nested slice." },
    {
      field: "share",
      label: "Share",
      width: "150px",
      sortable: false,
      text: "Self time as a share of all self time in the area.",
      cell: (row) => (
        <>
          <Bar share={row.share / most} category={row.category} /> <span class="num">{percent(row.share)}</span>
        </>
      ),
    },
  ];
  return (
    <div class="tl-area-grid">
      <div class="tl-area-names">
        <header class="tl-title">
          <h2>{`${time(area.to_ns - area.from_ns)} selected`}</h2>
          <span class="quiet num">
            {`${many(area.count, "slice")} · ${time(area.total_ns)} in total`}
            {area.names_more > 0 ? ` · ${count(area.names_more)} more names` : ""}
          </span>
          <span class="tl-grow" />
          <button
            type="button"
            onClick={() => controller.actions.show({ from: area.from_ns, to: area.to_ns }, 0.02)}
          >
            Zoom to area
          </button>
        </header>
        <Table
          label="Time by name in the area"
          columns={columns}
          rows={rowsOf(names)}
          sort={sort}
          onSort={(field) => setSort(field as SortField)}
          onOpen={(row) => {
            model.query.value = { text: row.name, exact: true };
          }}
          fill
          empty={<p class="quiet tl-none">Nothing in this area.</p>}
        />
      </div>
      <Rows area={area} model={model} />
    </div>
  );
}

function sorted(names: readonly AreaName[], field: SortField): AreaName[] {
  return [...names].sort((a, b) => (field === "name" ? a.name.localeCompare(b.name) : b[field] - a[field]));
}

function Rows({ area, model }: { area: Area; model: Model }) {
  const length = area.to_ns - area.from_ns;
  const rows = area.rows_busy.filter((row) => row.busy_ns > 0);
  if (rows.length === 0) return null;
  const groupOf = (row: number) => model.layout.rows[row]?.group ?? -1;
  const groups = [...new Set(rows.map(({ row }) => groupOf(row)))];
  return (
    <section class="tl-area-rows">
      <h3>
        <Defined text="Share of the area during which this row was busy.">Busy</Defined>
      </h3>
      {groups.map((group) => (
        <div key={group} class="tl-area-lane">
          <bdi>{model.layout.groups[group]?.label}</bdi>
          <ul>
            {rows
              .filter(({ row }) => groupOf(row) === group)
              .map(({ row, busy_ns }) => (
                <li key={row}>
                  <span class="quiet">{model.layout.rows[row]?.label || "all"}</span>
                  <Bar share={busy_ns / length} />
                  <span class="num">{percent(busy_ns / length)}</span>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
