// Every place of both runs: what changed there, by how much, and whether that is more than noise.

import { useMemo } from "preact/hooks";
import type { DiffAnswer } from "../../data/types.ts";
import type { ChangeRow } from "../../data/wire.ts";
import { dash } from "../../parts/browse.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Filter } from "../../parts/filter.tsx";
import { count, shortName, signedTime, time } from "../../parts/format.ts";
import { Name } from "../../parts/links.tsx";
import { definition } from "../../parts/metric.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { href, param, setParams } from "../../session/route.ts";
import type { CauseWords } from "./cause-words.ts";
import {
  arranged,
  countsOf,
  MATCHED,
  SORTS,
  shortNames,
  sumsOf,
  targetOf,
  whatOf,
  whereOf,
} from "./changes.ts";
import { amountOf, toneOf } from "./waterfall-chart.tsx";

interface Props {
  of: DiffAnswer;
  words: CauseWords;
  /** The runs compared. */
  a: number;
  b: number;
}

export function ChangesCard({ of, words, a, b }: Props) {
  const filter = param("filter");
  const asked = param("sort") ?? "";
  const sort = SORTS.includes(asked) ? asked : "delta_ns";
  const rows = useMemo(() => arranged(of.rows, filter, sort), [of, filter, sort]);
  const shown = useMemo(() => ({ total: rows.length, at: (index: number) => rows[index] }), [rows]);
  const columns = useMemo(() => columnsOf(of, words), [of, words]);
  const open = Number.parseInt(param("open") ?? "", 10);
  const sums = sumsOf(rows);
  const isKnown = of.rows.some((row) => row.noise_ns !== null);
  return (
    <Card
      title="By place"
      text="A row for each module, operator and kernel, or for what the host was in while the device was idle. The changes of all rows add up to the change of the step."
      note={`${count(rows.length)} of ${count(of.rows.length)} rows: ${signedTime(sums.delta_ns)} per step, ${isKnown ? `${count(sums.noise)} within noise` : "noise unknown"}`}
      class="changes-card"
    >
      <div class="toolbar">
        <Filter
          view="compare"
          label="Filter the changes"
          value={filter}
          onChange={(next) => setParams({ filter: next, open: undefined })}
        />
      </div>
      <Table
        label="Changes by place"
        columns={columns}
        rows={shown}
        height={520}
        sort={sort}
        onSort={(field) => setParams({ sort: field === "delta_ns" ? undefined : field, open: undefined })}
        open={Number.isNaN(open) ? undefined : open}
        onOpen={(_, index) => setParams({ open: index === open ? undefined : index })}
        detail={(row) => <Detail row={row} words={words} a={a} b={b} />}
        empty={
          <Empty
            title={of.rows.length === 0 ? "Nothing to compare." : "No rows match the filter."}
            hint={
              of.rows.length === 0
                ? "One of the runs has no steps."
                : "The filter is a regular expression matched against names, operators and modules."
            }
          />
        }
      />
    </Card>
  );
}

function columnsOf(of: DiffAnswer, words: CauseWords): Column<ChangeRow>[] {
  const { definitions } = of;
  const largest = Math.max(...of.rows.map((row) => Math.abs(row.delta_ns)), 1);
  // Nothing is known about it where a side has one step.
  const noise: Column<ChangeRow>[] = of.rows.every((row) => row.noise_ns === null)
    ? []
    : [
        defined(definitions, "noise_ns", {
          cell: (row) => (row.noise_ns === null ? dash : <span class="quiet">{`±${time(row.noise_ns)}`}</span>),
        }),
      ];
  const columns: Column<ChangeRow>[] = [
    {
      field: "name",
      label: "Where",
      align: "left",
      cell: (row) => <WhereCell row={row} words={words} />,
    },
    {
      field: "what",
      label: "What",
      cell: (row) => (
        <span class={row.is_noise || row.change === "same" ? "quiet" : undefined}>{whatOf(row)}</span>
      ),
    },
    defined(definitions, "delta_ns", {
      cell: (row) => (
        <span class={`share ${row.is_noise ? "quiet" : toneOf(row.delta_ns)}`}>
          {signedTime(row.delta_ns)}
          <ChangeBar share={row.delta_ns / largest} dim={row.is_noise} />
        </span>
      ),
    }),
    ...noise,
    defined(definitions, "before_ns", { cell: (row) => amountOf(row.before_ns) }),
    defined(definitions, "after_ns", { cell: (row) => amountOf(row.after_ns) }),
    { field: "after_count", label: "Count", text: definition(definitions, "before_count"), cell: countsOf },
  ];
  if (of.rows.some((row) => row.module !== null))
    columns.push({
      field: "module",
      label: "Module",
      cell: (row) =>
        row.module === null ? (
          dash
        ) : (
          <bdi class="compare-module" title={moduleOf(row)}>
            {tailOf(moduleOf(row))}
          </bdi>
        ),
    });
  return columns;
}

function moduleOf(row: ChangeRow): string {
  return `${row.module}${row.backward ? " (backward)" : ""}`;
}

/** The end of a path is what tells modules apart. */
function tailOf(path: string): string {
  const parts = path.split("/");
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}

function WhereCell({ row, words }: { row: ChangeRow; words: CauseWords }) {
  const { cause, op, was, name } = whereOf(row, words.label);
  const whole = row.before_name === null ? row.name : `${row.before_name} → ${row.name}`;
  return (
    <bdi title={whole}>
      {op && <span class="quiet">{op}: </span>}
      {name}
      {was && <span class="quiet"> ← {was}</span>}
      {cause && <span class="quiet"> · {cause}</span>}
    </bdi>
  );
}

/** Less to the left, more to the right of a middle line. */
function ChangeBar({ share, dim }: { share: number; dim: boolean }) {
  const width = `${Math.min(1, Math.abs(share)) * 50}%`;
  return (
    <span class={dim ? "change-bar dim" : "change-bar"} aria-hidden="true">
      <span
        class={share < 0 ? "less" : "more"}
        style={share < 0 ? { right: "50%", width } : { left: "50%", width }}
      />
    </span>
  );
}

function Detail({ row, words, a, b }: { row: ChangeRow; words: CauseWords; a: number; b: number }) {
  const link = (side: "before" | "after", run: number) => {
    const target = targetOf(row, side);
    if (!target) return null;
    const what = { kernels: "kernels", operators: "operators", timeline: "timeline" }[target.view];
    return (
      <a class="button" href={href(target.view, { ...target.params, run, step: undefined })}>
        {`Show in the ${what} of ${side === "before" ? "A" : "B"}`}
      </a>
    );
  };
  const name = (text: string) => <bdi class="mono">{text.slice(0, 4000)}</bdi>;
  return (
    <>
      <Facts
        of={[
          ["Cause", words.label(row.cause)],
          row.op !== null && ["Operator", <Name name={row.op} short={shortName(row.op)} />],
          row.module !== null && ["Module", moduleOf(row)],
          ...(row.before_name !== null && shortNames(row.before_name) !== shortNames(row.name)
            ? ([
                ["Before", name(row.before_name)],
                ["After", name(row.name)],
              ] as const)
            : ([["Name", name(row.name)]] as const)),
          ["Matched by", MATCHED[row.matched]],
          row.noise_ns !== null && [
            "Noise",
            row.is_noise
              ? `The change is within ±${time(row.noise_ns)}: it may be noise.`
              : `The change is beyond ±${time(row.noise_ns)}.`,
          ],
        ]}
      />
      <div class="toolbar">
        {link("before", a)}
        {link("after", b)}
      </div>
    </>
  );
}
