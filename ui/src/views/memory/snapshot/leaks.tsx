// What grows from iteration to iteration: which line, how fast, and when memory runs out.

import type { Definition } from "../../../data/types.ts";
import type { ComparedDeviceRow, FullRow, LeakRow, MemoryLeaks } from "../../../data/wire.ts";
import { bytes, many, time } from "../../../parts/format.ts";
import { Defined, definition } from "../../../parts/metric.tsx";
import { functionColumn, PlainTable, placeColumn } from "../../../parts/plain-table.tsx";
import { Card } from "../../../parts/states.tsx";
import { useAsk } from "../../../session/use-ask.ts";

const MAX_ROWS = 5;

export function Leaks({ device }: { device: number }) {
  const { data } = useAsk<MemoryLeaks>("memory", { leaks: true });
  const looked = data?.looked_at.find((row) => row.device === device);
  if (!data || !looked) return null;
  const rows = data.leaks.filter((row) => row.device === device);
  const full = data.full.filter((row) => row.device === device);
  if (rows.length === 0) return <NothingGrows looked={looked} />;
  return (
    <Card title="What grows" class="snap-leaks largest" note={looked.text}>
      <p class="snap-note">{headline(rows)}</p>
      <Rows rows={rows.slice(0, MAX_ROWS)} definitions={data.definitions ?? []} />
      {rows.length > MAX_ROWS && (
        <p class="quiet">
          {many(rows.length - MAX_ROWS, "more line")} with less growth: `stepscope memory --leaks`.
        </p>
      )}
      {full.length > 0 && <WhenFull rows={full} text={definition(data.definitions, "iterations_left")} />}
    </Card>
  );
}

function NothingGrows({ looked }: { looked: ComparedDeviceRow }) {
  const said = looked.enough
    ? "Nothing grows from iteration to iteration by 1 MiB or more."
    : "Leaks: unknown.";
  return (
    <p class="quiet snap-nothing" role="note">
      {said} {looked.text}.
    </p>
  );
}

/** What grows, and how fast, in one sentence. */
function headline(rows: LeakRow[]): string {
  const first = rows[0]!;
  const all = rows.reduce((sum, row) => sum + row.growth_bytes_each, 0);
  const others = rows.length === 1 ? "" : ` and ${many(rows.length - 1, "other line")}`;
  return `Memory kept by ${first.function}${others} grows by ${bytes(all)} per ${first.per}.`;
}

function Rows({ rows, definitions }: { rows: LeakRow[]; definitions: Definition[] }) {
  return (
    <div class="snap-scroll">
      <PlainTable
        label="What grows"
        of={definitions}
        rows={rows}
        columns={[
          functionColumn(),
          {
            field: "growth_bytes_each",
            label: `Per ${rows[0]!.per}`,
            cell: (row) => `+${bytes(row.growth_bytes_each)}`,
          },
          {
            field: "growth_low",
            label: "95% interval",
            cell: (row) => `${bytes(row.growth_low)} to ${bytes(row.growth_high)}`,
          },
          "held_bytes",
          "held_count",
          placeColumn(),
        ]}
      />
    </div>
  );
}

function WhenFull({ rows, text }: { rows: FullRow[]; text: string | undefined }) {
  return (
    <p class="snap-note">
      <Defined text={text}>At this rate</Defined>, {rows.map(whenFull).join(", and ")}.
      {rows.some((row) => !row.known) && (
        <span class="quiet">
          {" "}
          The snapshot does not say how much the device has, so these are common sizes.
        </span>
      )}
    </p>
  );
}

function whenFull(row: FullRow): string {
  const size = row.known ? `the ${bytes(row.limit_bytes)} there are` : bytes(row.limit_bytes);
  const when = row.left_ns === null ? "" : ` (${time(row.left_ns)})`;
  return `${size} would be full after ${many(row.iterations_left, row.per)}${when}`;
}
