// The overview of a profile of memory: who held the peak, what was left at the end, and what to change.

import { Defined, definition, Share } from "../../parts/figure.tsx";
import { bytes, count, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Card } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import type { HeapLineRow, SummaryOfHeap } from "./types.ts";

const ROWS = 12;
const WORDS: Record<string, string> = { grows: "grew by", churns: "allocated" };

interface Props {
  data: SummaryOfHeap;
  about: string;
  /** Of a GPU's allocator: it has a history. */
  isSnapshot: boolean;
}

export function HeapOverview({ data, about, isSnapshot }: Props) {
  const text = (field: string) => definition(data.definitions, field);
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
      <Lines title="Who held the peak" rows={data.heap_lines} text={text} />
      <Lines title="What was left at the end" rows={data.left_lines} text={text} />
    </div>
  );
}

type Text = (field: string) => string | undefined;

function Lines({ title, rows, text }: { title: string; rows: HeapLineRow[]; text: Text }) {
  if (rows.length === 0) return null;
  const grows = rows.some((row) => row.growth_bytes !== null);
  const flame = (
    <a class="quiet-link" href={href("flame")}>
      Flame graph
    </a>
  );
  return (
    <Card title={title} class="largest" note={flame}>
      <table class="plain" aria-label={title}>
        <thead>
          <tr>
            <th scope="col">Function</th>
            <Head text={text("peak_bytes")}>At the peak</Head>
            <Head text={text("peak_share")}>% of peak</Head>
            <Head text={text("live_bytes")}>At the end</Head>
            {grows && <Head text={text("growth_bytes")}>Growth</Head>}
            <Head text={text("allocated_bytes")}>Allocated</Head>
            <Head text={text("allocations")}>Allocations</Head>
            <th scope="col" class="hot-place">
              Where
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row) => (
            <tr key={`${row.file}:${row.line} ${row.function}`}>
              <td class="name">
                <bdi>{row.function}</bdi>
              </td>
              <td class="num">{bytes(row.peak_bytes)}</td>
              <td class="num">
                <Share share={row.peak_share} />
              </td>
              <td class="num">{row.live_bytes === 0 ? "–" : bytes(row.live_bytes)}</td>
              {grows && <td class="num">{row.growth_bytes === null ? "–" : signed(row.growth_bytes)}</td>}
              <td class="num">{bytes(row.allocated_bytes)}</td>
              <td class="num">{count(row.allocations)}</td>
              <td class="hot-place quiet">
                <Place row={row} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function signed(value: number): string {
  return value < 0 ? `-${bytes(-value)}` : `+${bytes(value)}`;
}

function Place({ row }: { row: HeapLineRow }) {
  if (row.line === 0 || !/\.pyx?$/.test(row.file)) return <bdi>{row.file}</bdi>;
  return <SourceLink file={row.file} line={row.line} />;
}

function Head({ text, children }: { text: string | undefined; children: string }) {
  return (
    <th scope="col" class="num">
      <Defined text={text}>{children}</Defined>
    </th>
  );
}
