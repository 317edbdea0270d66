// The functions and lines that take most of the time of a program without device work, and the overview of a profile.

import { Defined, definition, Share } from "../../parts/figure.tsx";
import { amount, count, percent, time, type Unit } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { Findings } from "./finding-list.tsx";
import { HeapOverview } from "./heap.tsx";
import type {
  FindingsAnswer,
  HotFunction,
  HotLine,
  InfoOfProfile,
  SummaryOfHeap,
  SummaryOfProfile,
} from "./types.ts";

const ROWS = 12;

type Text = (field: string) => string | undefined;

export function HotFunctions({ rows, unit, text }: { rows: HotFunction[]; unit: Unit; text: Text }) {
  if (rows.length === 0) return null;
  const own = rows.some((row) => row.own !== 0);
  const waits = rows.some((row) => (row.waited_ns ?? 0) > 0);
  return (
    <Card
      title="Functions"
      class="largest"
      note={
        <>
          <a class="quiet-link" href={href("functions")}>
            All functions
          </a>{" "}
          <a class="quiet-link" href={href("flame")}>
            Flame graph
          </a>
        </>
      }
    >
      <table class="plain" aria-label="Functions">
        <thead>
          <tr>
            <th scope="col">Function</th>
            {own && <Head text={text("own")}>Self</Head>}
            {own && <Head text={text("own_share")}>Self %</Head>}
            <Head text={text("with_callees")}>Total</Head>
            <Head text={text("with_callees_share")}>Total %</Head>
            {waits && <Head text={text("waited_ns")}>Waiting</Head>}
            <th scope="col" class="hot-place">
              Where
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row) => (
            <tr key={`${row.name} ${row.place}`}>
              <td class="name">
                <bdi>{row.name}</bdi>
              </td>
              {own && <td class="num">{row.own === 0 ? "–" : amount(row.own, unit)}</td>}
              {own && (
                <td class="num">
                  <Share share={row.own_share} />
                </td>
              )}
              <td class="num">{amount(row.with_callees, unit)}</td>
              <td class="num">{percent(row.with_callees_share)}</td>
              {waits && <td class="num">{row.waited_ns ? time(row.waited_ns) : "–"}</td>}
              <td class="hot-place quiet">
                <Placed place={row.place} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function HotLines({ rows, unit, text }: { rows: HotLine[]; unit: Unit; text: Text }) {
  if (rows.length === 0) return null;
  return (
    <Card
      title="Lines"
      class="largest"
      note={
        <a class="quiet-link" href={href("lines")}>
          All lines
        </a>
      }
    >
      <table class="plain" aria-label="Lines">
        <thead>
          <tr>
            <th scope="col">Line</th>
            <Head text={text("on_line")}>Self</Head>
            <Head text={text("on_line_share")}>Of all lines</Head>
            <th scope="col" class="hot-place">
              Function
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row) => (
            <tr key={`${row.place} ${row.function}`}>
              <td class="name">
                <Placed place={row.place} />
              </td>
              <td class="num">{amount(row.on_line, unit)}</td>
              <td class="num">
                <Share share={row.on_line_share} />
              </td>
              <td class="hot-place quiet">
                <bdi>{row.function}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** `file:line` as a link to its source. */
function Placed({ place }: { place: string }) {
  const [, file, line] = /^(.*\.pyx?):(\d+)$/.exec(place) ?? [];
  if (file === undefined) return <bdi>{place}</bdi>;
  return <SourceLink file={file} line={Number(line)} />;
}

function Head({ text, children }: { text: string | undefined; children: string }) {
  return (
    <th scope="col" class="num">
      <Defined text={text}>{children}</Defined>
    </th>
  );
}

/** The overview of a file without a timeline. */
export function ProfileOverview({ info }: { info: InfoOfProfile }) {
  const summary = useAsk<SummaryOfProfile | SummaryOfHeap>("summary");
  const found = summary.data && "findings" in summary.data && summary.data.findings.length > 0;
  const findings = useAsk<FindingsAnswer>("findings", {}, found === true);
  const held = info.profile;
  const about = [
    info.info.format,
    `${count(held.named_functions)} functions`,
    held.parts.length > 1 ? `${count(held.parts.length)} threads` : "",
  ];
  return (
    <Await of={summary}>
      {(data) => {
        const text = (field: string) => definition(data.definitions, field);
        if ("heap_lines" in data)
          return (
            <HeapOverview
              data={data}
              about={about.filter(Boolean).join(" · ")}
              isSnapshot={info.info.format.startsWith("memory snapshot")}
            />
          );
        return (
          <div class="hot-page">
            <section class="card verdict host" aria-label="Verdict">
              <p class="verdict-grade">
                <Icon name="info" /> Profile
              </p>
              <p class="verdict-text">{data.verdict ? `${data.verdict.text}.` : "This profile is empty."}</p>
              <p class="quiet">{about.filter(Boolean).join(" · ")}</p>
            </section>
            {found && <Await of={findings}>{(of) => <Findings of={of} definitions={of.definitions} />}</Await>}
            <HotFunctions rows={data.hot_functions} unit={data.unit} text={text} />
            <HotLines rows={data.hot_lines} unit={data.unit} text={text} />
          </div>
        );
      }}
    </Await>
  );
}
