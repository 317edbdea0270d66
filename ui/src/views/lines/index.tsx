// Lines of a profile, each with its text, sorted and filtered here.

import { useMemo } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { LinesAnswer, SourceLine } from "../../data/wire.ts";
import { arrangedRows } from "../../parts/answer-columns.ts";
import { amount, count, many, time } from "../../parts/format.ts";
import { Share } from "../../parts/metric.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Empty, Trouble } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { go, param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";

/** Lines asked for: those with the most. */
const MAX_LINES = 2000;

type Row = SourceLine;

export function Lines() {
  const answer = useAsk<LinesAnswer>("lines", { top: MAX_LINES });
  if (answer.problem) return <Trouble problem={answer.problem} />;
  if (!answer.data) return <div class="skeleton" aria-busy="true" />;
  return <LineTable of={answer.data} definitions={answer.data.definitions} />;
}

function LineTable({ of, definitions }: { of: LinesAnswer; definitions: Parameters<typeof defined>[0] }) {
  const amountField = of.unit === "nanoseconds" ? "time_ns" : of.unit === "bytes" ? "bytes" : "samples";
  const sort = param("sort") ?? amountField;
  const filter = param("filter") ?? "";
  const rows = useMemo(() => arrangedRows(of.lines, filter, sort), [of.lines, filter, sort]);
  if (of.lines.length === 0)
    return (
      <Empty
        title="This file has no lines."
        hint="Line profilers time lines, and samplers such as py-spy and Austin see them:"
        code="stepscope run --lines script.py"
      />
    );
  const hits = of.lines.some((row) => row.hits !== null);
  const columns: Column<Row>[] = [
    {
      field: "file",
      label: "Line",
      align: "left",
      cell: (row) => (
        <>
          {row.file ? <SourceLink file={row.file} line={row.line} /> : row.line}{" "}
          <code class="line-source">{row.source?.trim() ?? ""}</code>
        </>
      ),
    },
    ...(hits
      ? [
          defined<Row>(definitions, "hits", { width: "104px", cell: (row) => count(row.hits ?? 0) }),
          defined<Row>(definitions, "per_hit_ns", { width: "96px", cell: (row) => time(row.per_hit_ns ?? 0) }),
        ]
      : []),
    defined<Row>(definitions, amountField, {
      width: "96px",
      cell: (row) => amount(row.time_ns ?? row.samples ?? row.bytes ?? 0, of.unit),
    }),
    defined<Row>(definitions, "share", { width: "120px", cell: (row) => <Share share={row.share} /> }),
    defined<Row>(definitions, "profile_share", {
      width: "120px",
      cell: (row) => <Share share={row.profile_share} />,
    }),
    { field: "function", label: "Function", align: "left", width: "160px" },
  ];
  return (
    <div class="browse">
      <div class="toolbar">
        <SearchBox
          label="Filter lines"
          placeholder="Filter by file, function or text"
          value={filter}
          onInput={(text) => setParams({ filter: text || undefined })}
        />
      </div>
      <div class="browse-table">
        <Table
          fill
          label="Lines"
          columns={columns}
          rows={rowsOf(rows)}
          sort={sort}
          onSort={(field) => setParams({ sort: field })}
          onOpen={(row) => row.file && go("source", { file: row.file, line: row.line })}
          empty={<Empty title="No line matches the filter." />}
        />
      </div>
      <footer class="ledger">
        <span>{many(rows.length, "line")}</span>
        <span>
          in total <b class="num">{amount(of.total, of.unit)}</b>
        </span>
      </footer>
    </div>
  );
}
