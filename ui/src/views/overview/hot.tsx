// The functions and lines that take most of the time of a program without device work, and the overview of a profile.

import { amount, many, time, type Unit } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { type Definitions, Share } from "../../parts/metric.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
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

const MAX_ROWS = 12;

export function HotFunctions({ rows, unit, of }: { rows: HotFunction[]; unit: Unit; of: Definitions }) {
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
      <PlainTable
        label="Functions"
        of={of}
        rows={rows.slice(0, MAX_ROWS)}
        columns={[
          { label: "Function", as: "name", cell: (row) => <bdi>{row.name}</bdi> },
          own && { field: "own", cell: (row) => (row.own === 0 ? "–" : amount(row.own, unit)) },
          own && { field: "own_share", cell: (row) => <Share share={row.own_share} /> },
          { field: "with_callees", cell: (row) => amount(row.with_callees, unit) },
          "with_callees_share",
          waits && { field: "waited_ns", cell: (row) => (row.waited_ns ? time(row.waited_ns) : "–") },
          { label: "Where", as: "place", cell: (row) => <Placed place={row.place} /> },
        ]}
      />
    </Card>
  );
}

function HotLines({ rows, unit, of }: { rows: HotLine[]; unit: Unit; of: Definitions }) {
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
      <PlainTable
        label="Lines"
        of={of}
        rows={rows.slice(0, MAX_ROWS)}
        columns={[
          { label: "Line", as: "name", cell: (row) => <Placed place={row.place} /> },
          { field: "on_line", cell: (row) => amount(row.on_line, unit) },
          { field: "on_line_share", cell: (row) => <Share share={row.on_line_share} /> },
          { label: "Function", as: "place", cell: (row) => <bdi>{row.function}</bdi> },
        ]}
      />
    </Card>
  );
}

/** `file:line` as a link to its source. */
function Placed({ place }: { place: string }) {
  const [, file, line] = /^(.*\.pyx?):(\d+)$/.exec(place) ?? [];
  if (file === undefined) return <bdi>{place}</bdi>;
  return <SourceLink file={file} line={Number(line)} />;
}

/** The overview of a file without a timeline. */
export function ProfileOverview({ info }: { info: InfoOfProfile }) {
  const summary = useAsk<SummaryOfProfile | SummaryOfHeap>("summary");
  const found = summary.data && "findings" in summary.data && summary.data.findings.length > 0;
  const findings = useAsk<FindingsAnswer>("findings", {}, found === true);
  const held = info.profile;
  const about = [
    info.info.format,
    many(held.named_functions, "function"),
    held.parts.length > 1 ? many(held.parts.length, "thread") : "",
  ];
  return (
    <Await of={summary}>
      {(data) => {
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
            <HotFunctions rows={data.hot_functions} unit={data.unit} of={data.definitions} />
            <HotLines rows={data.hot_lines} unit={data.unit} of={data.definitions} />
          </div>
        );
      }}
    </Await>
  );
}
