// The source of one file with what the run says about its lines and functions: heat where time was spent.

import { useMemo } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { SourceFile } from "../../data/wire.ts";
import { amount, count, percent, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Share } from "../../parts/metric.tsx";
import { Empty, Trouble } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { href, numberParam, param } from "../../session/route.ts";
import { run, runId, runs, source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { heat, type SourceRow, sourceRows } from "./rows.ts";
import "./style.css";

export function Source() {
  const file = param("file");
  const id = runId.value;
  const key = file === undefined || id === undefined ? undefined : JSON.stringify([id, file]);
  const loaded = useLoaded(key, (signal) => source.source(id ?? 0, file ?? "", signal));
  const other = useBeside(file);
  if (file === undefined)
    return (
      <Empty title="No file was chosen." hint="Choose a function or a line on its page to see its source." />
    );
  if (loaded.problem) return <Trouble problem={loaded.problem} />;
  if (!loaded.data) return <div class="skeleton" aria-busy="true" />;
  return <Text of={loaded.data} beside={other?.unit === loaded.data.unit ? undefined : other} />;
}

/** The same file in a run that tracked memory, beside one that took times, and the other way round. */
function useBeside(file: string | undefined): SourceFile | undefined {
  const tracked = (path: string) => path.endsWith(".mem");
  const here = run.value;
  const other =
    here && runs.value?.runs.find((one) => one.id !== here.id && tracked(one.path) !== tracked(here.path));
  const key = file === undefined || !other ? undefined : JSON.stringify([other.id, file]);
  return useLoaded(key, (signal) => source.source(other?.id ?? 0, file ?? "", signal)).data;
}

function Text({ of, beside }: { of: SourceFile; beside: SourceFile | undefined }) {
  const rows = useMemo(() => sourceRows(of, beside), [of, beside]);
  const line = numberParam("line");
  const most = Math.max(0, ...rows.map((row) => row.share));
  const at = line === undefined ? undefined : rows.findIndex((row) => row.line >= line);
  return (
    <div class="browse source-page">
      <header class="source-head">
        <h2>
          <bdi>{of.file}</bdi>
        </h2>
        <a class="quiet-link" href={href("functions")}>
          Functions
        </a>
        {of.lines.length > 0 && (
          <a class="quiet-link" href={href("lines")}>
            Lines
          </a>
        )}
      </header>
      {of.changed && (
        <p class="source-note" role="note">
          <Icon name="info" /> This file was changed after the recording: lines may have moved.
        </p>
      )}
      {of.text === null && (
        <p class="source-note" role="note">
          <Icon name="info" /> The file is not on this machine, or is not Python source: only numbers are shown.
        </p>
      )}
      <div class="browse-table">
        <Table
          fill
          label="Source"
          columns={columns(of, beside, rows, most)}
          rows={rowsOf(rows)}
          open={at === undefined || at < 0 ? undefined : at}
          empty={<Empty title="Nothing is known about the lines of this file." />}
        />
      </div>
    </div>
  );
}

function columns(
  of: SourceFile,
  beside: SourceFile | undefined,
  rows: SourceRow[],
  most: number,
): Column<SourceRow>[] {
  const has = (is: (row: SourceRow) => boolean) => rows.some(is);
  const number = (
    field: string,
    label: string,
    text: string,
    cell: Column<SourceRow>["cell"],
  ): Column<SourceRow> => ({
    field,
    label,
    text,
    width: "96px",
    sortable: false,
    cell: cell as NonNullable<typeof cell>,
  });
  return [
    {
      field: "line",
      label: "Source",
      align: "left",
      sortable: false,
      cell: (row) => (
        <code
          class={`source-line heat-${heat(row.share, most)}`}
          title={
            row.amount === undefined
              ? undefined
              : `${amount(row.amount, of.unit)}, ${percent(row.share)} of all`
          }
        >
          <span class="source-number">{row.line}</span>
          {row.text ?? (row.name ? `def ${row.name}` : "")}
        </code>
      ),
    },
    ...(has((row) => row.hits !== undefined)
      ? [
          number(
            "hits",
            "Hits",
            "How often the line ran, or the function that starts here was called.",
            (row) => (row.hits === undefined ? "" : count(row.hits)),
          ),
        ]
      : []),
    ...(has((row) => row.perHit !== undefined)
      ? [
          number("per_hit", "Per hit", "Time of the line divided by hits.", (row) =>
            row.perHit === undefined ? "" : time(row.perHit),
          ),
        ]
      : []),
    number(
      "amount",
      amountLabel(of),
      "Of the line; where only functions are known, of the function that starts here with all that it called.",
      (row) => (row.amount === undefined ? "" : amount(row.amount, of.unit)),
    ),
    ...(has((row) => row.wait !== undefined)
      ? [
          number("wait", "Waiting", "Waiting for the device in the function that starts here.", (row) =>
            row.wait ? time(row.wait) : "",
          ),
          number("device", "Device", "Device time launched by the function that starts here.", (row) =>
            row.device ? time(row.device) : "",
          ),
        ]
      : []),
    ...(beside && has((row) => row.beside !== undefined)
      ? [
          number(
            "beside",
            amountLabel(beside),
            beside.unit === "bytes"
              ? "What the line had allocated of the memory held at the peak, in the run that tracked it."
              : "Of the line, in the run that took times.",
            (row) => (row.beside ? amount(row.beside, beside.unit) : ""),
          ),
        ]
      : []),
    {
      ...number("share", "Of all", "The same as a share of the whole profile.", (row) =>
        row.amount === undefined ? "" : <Share share={row.share} of={most} />,
      ),
      width: "120px",
    },
  ];
}

function amountLabel(of: SourceFile): string {
  return of.unit === "nanoseconds" ? "Time" : of.unit === "bytes" ? "Memory" : "Samples";
}
