// The state at a moment: how much was in use, reserved and free; by line; as a flame graph; and where it lay.

import { useMemo, useState } from "preact/hooks";
import type { Definition, Flame, Instant, MemoryDevice } from "../../../data/types.ts";
import { bytes, count, many, percent, time } from "../../../parts/format.ts";
import { Metric, Share } from "../../../parts/metric.tsx";
import { PlainTable } from "../../../parts/plain-table.tsx";
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

const MAX_ROWS = 10;

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
            <Metrics of={data} definitions={props.definitions} />
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

function Metrics({ of, definitions }: { of: Instant; definitions: Definition[] }) {
  const { free_bytes, reserved_bytes, pending_bytes, map } = of;
  const part = (of: number, all: number, what: string) =>
    all > 0 ? `${percent(of / all)} of ${what}` : undefined;
  const metric = (field: keyof Instant | "largest_free_bytes", value: number, note?: string) => (
    <Metric of={definitions} field={field} value={bytes(value)} note={note} />
  );
  return (
    <div class="metrics">
      {metric("allocated_bytes", of.allocated_bytes, many(of.allocations, "allocation"))}
      {metric("requested_bytes", of.requested_bytes, "of what is in use or pending")}
      {pending_bytes > 0 && metric("pending_bytes", pending_bytes)}
      {metric("reserved_bytes", reserved_bytes, many(map.segment_count, "segment"))}
      {metric("free_bytes", free_bytes, part(free_bytes, reserved_bytes, "reserved"))}
      {metric("largest_free_bytes", map.largest_free_bytes, part(map.largest_free_bytes, free_bytes, "free"))}
    </div>
  );
}

function Lines(props: { of: Instant; definitions: Definition[]; onAllocation: (id: number) => void }) {
  const [all, showAll] = useState(false);
  const { lines, line_count } = props.of;
  const dark = theme.value === "dark";
  const shown = all ? lines : lines.slice(0, MAX_ROWS);
  if (lines.length === 0) return null;
  return (
    <Card title="In use, by line" class="largest">
      <div class="snap-scroll">
        <PlainTable
          label="In use, by line"
          of={props.definitions}
          rows={shown}
          columns={[
            {
              label: "Function",
              as: "name",
              cell: ({ place }) => (
                <>
                  <span class="swatch" style={{ background: css(lineColor(place.hash, dark)) }} />{" "}
                  <bdi>{place.function}</bdi>
                </>
              ),
            },
            "bytes",
            { field: "share", cell: (line) => <Share share={line.share} /> },
            "allocations",
            {
              label: "Largest",
              cell: (line) => (
                <button type="button" class="link" onClick={() => props.onAllocation(line.largest)}>
                  Show
                </button>
              ),
            },
            {
              label: "Where",
              as: "place",
              cell: ({ place: { file, line, function: name } }) =>
                file ? <SourceLink file={file} line={line || null} /> : noPlace(name),
            },
          ]}
        />
      </div>
      {line_count > MAX_ROWS && (
        <p class="mem-more quiet">
          <button type="button" onClick={() => showAll(!all)}>
            {all ? "Show fewer" : `Show ${count(Math.min(line_count, lines.length) - MAX_ROWS)} more`}
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
