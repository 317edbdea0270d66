// What grows from iteration to iteration: which line, how fast, and when memory runs out.

import type { Definition } from "../../../data/types.ts";
import type { FullRow, LeakRow, LookedAtRow, MemoryLeaks } from "../../../data/wire.ts";
import { Defined, definition } from "../../../parts/figure.tsx";
import { bytes, count, time } from "../../../parts/format.ts";
import { SourceLink } from "../../../parts/source-link.tsx";
import { Card } from "../../../parts/states.tsx";
import { useAsk } from "../../../session/use-ask.ts";
import { many } from "./words.ts";

const ROWS = 5;

export function Leaks({ device }: { device: number }) {
  const { data } = useAsk<MemoryLeaks>("memory", { leaks: true });
  const looked = data?.looked_at.find((row) => row.device === device);
  if (!data || !looked) return null;
  const rows = data.leaks.filter((row) => row.device === device);
  const full = data.full.filter((row) => row.device === device);
  if (rows.length === 0) return <NothingGrows looked={looked} />;
  return (
    <Card title="What grows" class="snap-leaks largest" note={looked.told}>
      <p class="snap-told">{headline(rows)}</p>
      <Rows rows={rows.slice(0, ROWS)} definitions={data.definitions ?? []} />
      {rows.length > ROWS && (
        <p class="quiet">
          {many(rows.length - ROWS, "more line")} with less growth: `stepscope memory --leaks`.
        </p>
      )}
      {full.length > 0 && <WhenFull rows={full} text={definition(data.definitions, "iterations_left")} />}
    </Card>
  );
}

function NothingGrows({ looked }: { looked: LookedAtRow }) {
  const said = looked.enough
    ? "Nothing grows from iteration to iteration by 1 MiB or more."
    : "Leaks: unknown.";
  return (
    <p class="quiet snap-nothing" role="note">
      {said} {looked.told}.
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
  const head = (field: string, label: string) => (
    <th scope="col" class="num">
      <Defined text={definition(definitions, field)}>{label}</Defined>
    </th>
  );
  return (
    <div class="snap-scroll">
      <table class="plain" aria-label="What grows">
        <thead>
          <tr>
            <th scope="col">Function</th>
            {head("growth_bytes_each", `Per ${rows[0]!.per}`)}
            {head("growth_low", "95% interval")}
            {head("held_bytes", "Held")}
            {head("held_count", "Pieces")}
            <th scope="col" class="hot-place">
              Where
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.file}:${row.line} ${row.function}`}>
              <td class="name">
                <bdi>{row.function}</bdi>
              </td>
              <td class="num">+{bytes(row.growth_bytes_each)}</td>
              <td class="num">
                {bytes(row.growth_low)} to {bytes(row.growth_high)}
              </td>
              <td class="num">{bytes(row.held_bytes)}</td>
              <td class="num">{count(row.held_count)}</td>
              <td class="hot-place quiet">
                {row.file && <SourceLink file={row.file} line={row.line || null} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function WhenFull({ rows, text }: { rows: FullRow[]; text: string | undefined }) {
  return (
    <p class="snap-told">
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
