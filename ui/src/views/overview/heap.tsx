// The overview of a profile of memory: who held the peak, what was left at the end, and what to change.

import { bytes, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { type Definitions, Share } from "../../parts/metric.tsx";
import { functionColumn, PlainTable, placeColumn } from "../../parts/plain-table.tsx";
import { Card } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import type { HeapLineRow, SummaryOfHeap } from "./types.ts";

const MAX_ROWS = 12;
const WORDS: Record<string, string> = { grows: "grew by", churns: "allocated" };

interface Props {
  data: SummaryOfHeap;
  about: string;
  /** Of a GPU's allocator: it has a history. */
  isSnapshot: boolean;
}

export function HeapOverview({ data, about, isSnapshot }: Props) {
  const { advice } = data;
  return (
    <div class="hot-page">
      <section class="card verdict host" aria-label="Verdict">
        <p class="verdict-grade">
          <Icon name="info" /> Memory
        </p>
        <p class="verdict-text">
          {`The peak${data.of_device ? ` of ${data.of_device}` : ""} was ${bytes(data.peak_bytes)}, at ${time(data.peak_at_ns)}; ${bytes(data.end_bytes)} was left at the end.`}
        </p>
        <p class="quiet">
          {about}
          {isSnapshot && (
            <>
              {" · "}
              <a href={href("memory")}>Every allocation over time</a>
            </>
          )}
        </p>
      </section>
      {advice.length > 0 && (
        <Card title="What to change">
          <ul>
            {advice.map((one) => (
              <li key={`${one.kind} ${one.place}`}>
                <bdi>{one.place}</bdi> ({one.function}) {WORDS[one.kind] ?? "held"} {bytes(one.bytes)}:{" "}
                {one.change}
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Lines title="Who held the peak" rows={data.heap_lines} of={data.definitions} />
      <Lines title="What was left at the end" rows={data.left_lines} of={data.definitions} />
    </div>
  );
}

function Lines({ title, rows, of }: { title: string; rows: HeapLineRow[]; of: Definitions }) {
  if (rows.length === 0) return null;
  const grows = rows.some((row) => row.growth_bytes !== null);
  const flame = (
    <a class="quiet-link" href={href("flame")}>
      Flame graph
    </a>
  );
  return (
    <Card title={title} class="largest" note={flame}>
      <PlainTable
        label={title}
        of={of}
        rows={rows.slice(0, MAX_ROWS)}
        columns={[
          functionColumn(),
          "peak_bytes",
          { field: "peak_share", cell: (row) => <Share share={row.peak_share} /> },
          { field: "live_bytes", cell: (row) => (row.live_bytes === 0 ? "–" : bytes(row.live_bytes)) },
          grows && {
            field: "growth_bytes",
            cell: (row) => (row.growth_bytes === null ? "–" : signed(row.growth_bytes)),
          },
          "allocated_bytes",
          "allocations",
          placeColumn(),
        ]}
      />
    </Card>
  );
}

function signed(value: number): string {
  return value < 0 ? `-${bytes(-value)}` : `+${bytes(value)}`;
}
