// The longest gaps, one by one, each with a link to the timeline.

import { rowsOf } from "../../data/rows.ts";
import type { GapRow, GapsAnswer } from "../../data/wire.ts";
import { Facts } from "../../parts/facts.tsx";
import { count, shortName, time } from "../../parts/format.ts";
import { cause, gapKind, stepName } from "../../parts/key-names.ts";
import { Name, Stack, timelineColumn } from "../../parts/links.tsx";
import { type Definitions, labelOf } from "../../parts/metric.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { useOpenRow } from "../../session/open-row.ts";
import { param, setParams } from "../../session/route.ts";

export function Longest({ answer }: { answer: GapsAnswer }) {
  const [open, toggle] = useOpenRow();
  const only = param("kind");
  const kinds = [...new Set(answer.kinds.map((row) => row.kind))];
  const definitions = answer.definitions;
  const several = new Set(answer.kinds.map((row) => row.device)).size > 1;
  const rows = only ? answer.gaps.filter((gap) => gap.kind === only) : answer.gaps;
  const columns: Column<GapRow>[] = [
    defined<GapRow>(definitions, "culprit", {
      align: "left",
      cell: (row) =>
        row.culprit ? (
          <Name name={row.culprit} short={shortName(row.culprit)} />
        ) : (
          <span class="quiet">{cause(row.cause).label}</span>
        ),
    }),
    defined(definitions, "start_ns", { width: "90px" }),
    defined<GapRow>(definitions, "step", { width: "70px", cell: (row) => stepName(row.step) }),
    ...(several ? [defined<GapRow>(definitions, "device", { width: "64px" })] : []),
    defined<GapRow>(definitions, "idle_ns", { width: "90px" }),
    defined<GapRow>(definitions, "kind", {
      align: "left",
      width: "210px",
      cell: (row) => (
        <>
          <span class={`swatch cat-${gapKind(row.kind).category}`} aria-hidden="true" />{" "}
          {gapKind(row.kind).label}
        </>
      ),
    }),
    timelineColumn((row) => ({
      start: row.start_ns,
      length: row.idle_ns,
      label: `Show the gap of ${time(row.idle_ns)} on the timeline`,
    })),
  ];
  const note = (
    <label>
      Kind{" "}
      <select
        value={only ?? ""}
        onChange={(event) => setParams({ kind: event.currentTarget.value || undefined, row: undefined })}
      >
        <option value="">all</option>
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {gapKind(kind).label}
          </option>
        ))}
      </select>
    </label>
  );
  const missing = answer.totals.gaps - answer.gaps.length;
  return (
    <Card title="Longest gaps" note={note}>
      <Table
        label="Longest gaps"
        columns={columns}
        rows={rowsOf(rows)}
        height={360}
        open={open}
        onOpen={(_, index) => toggle(index)}
        detail={(row) => <Gap row={row} of={definitions} />}
        empty={<Empty title="No listed gap is of this kind." />}
      />
      {missing > 0 && (
        <p class="side-note">
          Only the longest {count(answer.gaps.length)} gaps are listed; {count(missing)} shorter ones are not.
        </p>
      )}
    </Card>
  );
}

function Gap({ row, of }: { row: GapRow; of: Definitions }) {
  return (
    <Facts
      of={[
        ["Cause", cause(row.cause).label],
        [
          labelOf(of, "culprit"),
          <bdi>{row.culprit ?? "the host was not late: work was launched in time"}</bdi>,
        ],
        ["Next work", <bdi class="mono">{row.next ?? "none in this step"}</bdi>],
        ["Python", <Stack frames={row.stack} />],
      ]}
    />
  );
}
