// The state at a moment: how much was in use, reserved and free; by line; as a flame graph; and where it lay.

import { useMemo, useState } from "preact/hooks";
import type { Definition, Flame, Instant, MemoryDevice } from "../../../data/types.ts";
import { Defined, definition, Figure, Share } from "../../../parts/figure.tsx";
import { bytes, count, percent, time } from "../../../parts/format.ts";
import { SourceLink } from "../../../parts/source-link.tsx";
import { Await, Card } from "../../../parts/states.tsx";
import { source } from "../../../session/state.ts";
import { theme } from "../../../session/theme.ts";
import { useLoaded } from "../../../session/use-ask.ts";
import { Graph } from "../../flame/graph.tsx";
import "../../flame/style.css";
import { place, treeOf } from "../../flame/tree.ts";
import { css, lineColor } from "./colors.ts";
import { Segments } from "./map.tsx";
import { many } from "./words.ts";

const ROWS = 10;

interface Props {
  run: number;
  device: MemoryDevice;
  state: number;
  definitions: Definition[];
  onState: (state: number) => void;
  onAllocation: (id: number) => void;
}

export function Moment(props: Props) {
  const { run, device, state } = props;
  const key = JSON.stringify([run, device.device, state]);
  const instant = useLoaded(`state${key}`, (signal) => source.memoryState(run, device.device, state, signal));
  const flame = useLoaded(`flame${key}`, (signal) => source.memoryFlame(run, device.device, state, signal));
  return (
    <Await of={instant}>
      {(data) => (
        <div class="mem">
          <Card title={title(data, device)} note={<Jumps {...props} />}>
            <Figures of={data} definitions={props.definitions} />
          </Card>
          <Lines of={data} definitions={props.definitions} onAllocation={props.onAllocation} />
          <Await of={flame}>{(columns) => <LiveFlame columns={columns} />}</Await>
          <Segments
            run={run}
            device={device.device}
            of={data}
            definitions={props.definitions}
            onAllocation={props.onAllocation}
          />
        </div>
      )}
    </Await>
  );
}

function title(of: Instant, device: MemoryDevice): string {
  const when = [of.at_ns === null ? "" : `at ${time(of.at_ns)}, `, `event ${count(of.state)}`].join("");
  if (device.states === 1) return "State when the snapshot was taken";
  if (of.state === device.peak_state) return `State at the peak, ${when}`;
  if (of.state === device.states - 1) return `State when the snapshot was taken, ${when}`;
  return `State ${when}`;
}

function Jumps({ device, state, onState }: Props) {
  // Programs that catch the error and try again have many; the last one counts.
  const refusal = device.refusals.at(-1);
  const moments = [
    { name: "Start", state: 0 },
    { name: "Peak", state: device.peak_state },
    ...(refusal ? [{ name: "Out of memory", state: refusal.state }] : []),
    { name: "End", state: device.states - 1 },
  ];
  const shown = source.isReport ? moments.filter((one) => one.name !== "Start") : moments;
  if (device.states === 1) return null;
  return (
    <fieldset class="choice">
      <legend class="sr-only">Moment</legend>
      {shown.map((one) => (
        <button
          key={one.name}
          type="button"
          aria-pressed={state === one.state}
          onClick={() => onState(one.state)}
        >
          {one.name}
        </button>
      ))}
    </fieldset>
  );
}

function Figures({ of, definitions }: { of: Instant; definitions: Definition[] }) {
  const text = (field: string) => definition(definitions, field);
  const { free_bytes, reserved_bytes, pending_bytes, map } = of;
  return (
    <div class="figures">
      <Figure
        label="In use"
        value={bytes(of.allocated_bytes)}
        text={text("allocated_bytes")}
        note={many(of.allocations, "allocation")}
      />
      <Figure
        label="Requested"
        value={bytes(of.requested_bytes)}
        text={text("requested_bytes")}
        note="of what is in use or pending"
      />
      {pending_bytes > 0 && (
        <Figure label="Pending" value={bytes(pending_bytes)} text={text("pending_bytes")} />
      )}
      <Figure
        label="Reserved"
        value={bytes(reserved_bytes)}
        text={text("reserved_bytes")}
        note={many(map.segment_count, "segment")}
      />
      <Figure
        label="Free inside"
        value={bytes(free_bytes)}
        text={text("free_bytes")}
        note={reserved_bytes > 0 ? `${percent(free_bytes / reserved_bytes)} of reserved` : undefined}
      />
      <Figure
        label="Largest free"
        value={bytes(map.largest_free_bytes)}
        text={text("largest_free_bytes")}
        note={free_bytes > 0 ? `${percent(map.largest_free_bytes / free_bytes)} of free` : undefined}
      />
    </div>
  );
}

function Lines(props: { of: Instant; definitions: Definition[]; onAllocation: (id: number) => void }) {
  const [all, showAll] = useState(false);
  const { lines, line_count } = props.of;
  const text = (field: string) => definition(props.definitions, field);
  const dark = theme.value === "dark";
  const shown = all ? lines : lines.slice(0, ROWS);
  if (lines.length === 0) return null;
  return (
    <Card title="In use, by line" class="largest">
      <div class="snap-scroll">
        <table class="plain" aria-label="In use, by line">
          <thead>
            <tr>
              <th scope="col">Function</th>
              <Head text={text("bytes")}>In use</Head>
              <Head text={text("share")}>Share</Head>
              <Head text={text("allocations")}>Allocations</Head>
              <th scope="col" class="num">
                Largest
              </th>
              <th scope="col" class="hot-place">
                Where
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((line) => (
              <tr key={`${line.place.file}:${line.place.line} ${line.place.function}`}>
                <td class="name">
                  <span class="swatch" style={{ background: css(lineColor(line.place.hash, dark)) }} />{" "}
                  <bdi>{line.place.function}</bdi>
                </td>
                <td class="num">{bytes(line.bytes)}</td>
                <td class="num">
                  <Share share={line.share} />
                </td>
                <td class="num">{count(line.allocations)}</td>
                <td class="num">
                  <button type="button" class="link" onClick={() => props.onAllocation(line.largest)}>
                    Show
                  </button>
                </td>
                <td class="hot-place quiet">
                  {line.place.file ? (
                    <SourceLink file={line.place.file} line={line.place.line || null} />
                  ) : (
                    noPlace(line.place.function)
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {line_count > ROWS && (
        <p class="mem-more quiet">
          <button type="button" onClick={() => showAll(!all)}>
            {all ? "Show fewer" : `Show ${count(Math.min(line_count, lines.length) - ROWS)} more`}
          </button>
          {all &&
            line_count > lines.length &&
            ` ${count(line_count - lines.length)} smaller lines are not listed.`}
        </p>
      )}
    </Card>
  );
}

/** Why a line has no place in a file. */
function noPlace(name: string): string {
  return name.startsWith("(backward") ? "threads without Python" : "no Python on the stack";
}

function Head({ text, children }: { text: string | undefined; children: string }) {
  return (
    <th scope="col" class="num">
      <Defined text={text}>{children}</Defined>
    </th>
  );
}

function LiveFlame({ columns }: { columns: Flame }) {
  const tree = useMemo(() => treeOf(columns), [columns]);
  const placed = useMemo(() => place(tree, "heavy"), [tree]);
  const [at, setAt] = useState<{ columns: Flame; zoom: number; focus: number | undefined }>();
  const zoom = at?.columns === columns ? at.zoom : 0;
  const focus = at?.columns === columns ? at.focus : undefined;
  if (tree.size <= 1) return null;
  return (
    <Card
      title="In use, by stack"
      note={
        zoom > 0 ? (
          <button type="button" onClick={() => setAt({ columns, zoom: 0, focus: undefined })}>
            Zoom out
          </button>
        ) : (
          `${bytes(columns.total_ns)} in ${many(tree.size - 1, "frame")}`
        )
      }
    >
      <Graph
        label="In use, by stack"
        tree={tree}
        placed={placed}
        upwards={false}
        zoom={zoom}
        focus={focus}
        found={undefined}
        onFocus={(node) => setAt({ columns, zoom, focus: node })}
        onOpen={(node) => setAt({ columns, zoom: node, focus: node })}
        class="snap-flame"
      />
    </Card>
  );
}
