// The allocator's map: each segment as a bar with its blocks by address, and how its free bytes are cut up.

import { useState } from "preact/hooks";
import type { Definition, Instant } from "../../../data/types.ts";
import type { MapBlock, MapSegment } from "../../../data/wire.ts";
import { bytes, count, many, percent } from "../../../parts/format.ts";
import { PlainTable } from "../../../parts/plain-table.tsx";
import { shortPath } from "../../../parts/source-link.tsx";
import { Card } from "../../../parts/states.tsx";
import { hideTip, showTip } from "../../../parts/tip.tsx";
import { source } from "../../../session/state.ts";
import { useLoaded } from "../../../session/use-ask.ts";

const FIRST_ROWS = 12;
const MORE_ROWS = 100;
/** The width of a bar in its own units. */
const BAR_UNITS = 10_000;

/** Frames of a stack in a tip. */
const MAX_FRAMES = 6;

interface Props {
  run: number;
  device: number;
  of: Instant;
  definitions: Definition[];
  onAllocation: (id: number) => void;
}

const STATES: readonly { state: MapBlock["state"]; name: string }[] = [
  { state: "active", name: "in use" },
  { state: "pending", name: "pending on another stream" },
  { state: "free", name: "free" },
  { state: "mixed", name: "several small blocks" },
];

export function Segments({ run, device, of, definitions, onAllocation }: Props) {
  const [rows, setRows] = useState(FIRST_ROWS);
  const { segments, segment_count, outside } = of.map;
  const used = new Set(segments.flatMap((segment) => segment.blocks.map((block) => block.state)));
  const pools = segments.some((segment) => segment.pool !== null && segment.pool !== "0.0");
  if (segments.length === 0) return null;
  return (
    <Card
      title="Segments"
      note={`${many(segment_count, "segment")}, ${bytes(of.reserved_bytes)} reserved, ${bytes(of.free_bytes)} free`}
    >
      <ul class="legend snap-map-legend">
        {STATES.filter(({ state }) => used.has(state)).map(({ state, name }) => (
          <li key={state}>
            <span class={`swatch map-${state}`} /> {name}
          </li>
        ))}
      </ul>
      <div class="snap-scroll">
        <PlainTable
          label="Segments"
          class="snap-map"
          of={definitions}
          rows={segments.slice(0, rows)}
          columns={[
            { label: "Size", cell: (segment) => bytes(segment.bytes) },
            {
              field: "allocated_bytes",
              cell: (segment) => percent(segment.allocated_bytes / Math.max(1, segment.bytes)),
            },
            {
              field: "largest_free_bytes",
              cell: ({ largest_free_bytes: largest }) =>
                largest > 0 ? bytes(largest) : <span class="quiet">none</span>,
            },
            { label: "Kind", as: "text", cell: kind },
            { label: "Stream", cell: (segment) => segment.stream ?? "–" },
            pools && {
              label: "Pool",
              as: "text",
              cell: (segment) => (segment.pool === "0.0" ? "default" : (segment.pool ?? "–")),
            },
            {
              label: "Blocks by address, each bar at its own scale",
              as: "text",
              class: "snap-map-bar",
              cell: (segment) => (
                <Blocks run={run} device={device} segment={segment} onAllocation={onAllocation} />
              ),
            },
          ]}
        />
      </div>
      {segments.length > rows && (
        <p class="mem-more">
          <button type="button" onClick={() => setRows(rows + MORE_ROWS)}>
            Show {count(Math.min(MORE_ROWS, segments.length - rows))} more
          </button>
        </p>
      )}
      {(segment_count > segments.length || outside > 0) && (
        <p class="quiet mem-more">
          {segment_count > segments.length &&
            `The ${count(segments.length)} largest of ${count(segment_count)} segments are listed. `}
          {outside > 0 &&
            `${many(outside, "allocation")} in no segment: the history does not say where they are.`}
        </p>
      )}
    </Card>
  );
}

function kind(segment: MapSegment): string {
  if (segment.expandable) return "expandable";
  if (segment.small === null) return "fixed";
  return segment.small ? "small blocks" : "large blocks";
}

/** The blocks of one segment as a drawing; a click shows the allocation. */
function Blocks(props: {
  run: number;
  device: number;
  segment: MapSegment;
  onAllocation: (id: number) => void;
}) {
  const { segment, onAllocation } = props;
  const scale = BAR_UNITS / Math.max(1, segment.bytes);
  const starts: number[] = [];
  let end = 0;
  for (const block of segment.blocks) {
    starts.push(end);
    end += block.bytes;
  }
  const find = (event: MouseEvent): MapBlock | undefined => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = ((event.clientX - box.left) / Math.max(1, box.width)) * segment.bytes;
    const after = starts.findIndex((start) => start > at);
    return segment.blocks[after < 0 ? starts.length - 1 : after - 1];
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table of lines leads to the same allocations by keyboard
    <svg
      class="snap-blocks"
      viewBox={`0 0 ${BAR_UNITS} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${bytes(segment.bytes)} at ${segment.address}: ${many(segment.blocks_in_use, "block")} in use, ${percent(segment.allocated_bytes / Math.max(1, segment.bytes))} of the bytes`}
      onMouseMove={(event) => {
        const block = find(event);
        const [x, y] = [event.clientX, event.clientY];
        if (block)
          showTip(
            { left: x, right: x, top: y, bottom: y },
            <Tip run={props.run} device={props.device} block={block} />,
            true,
          );
      }}
      onMouseLeave={hideTip}
      onClick={(event) => {
        const block = find(event);
        if (block?.allocation != null) onAllocation(block.allocation);
      }}
    >
      {segment.blocks.map((block, at) => (
        <rect
          key={at}
          class={`map-${block.state}`}
          x={starts[at]! * scale}
          y={0}
          width={block.bytes * scale}
          height={10}
        />
      ))}
    </svg>
  );
}

/** What a block is, and who asked for it. */
function Tip({ run, device, block }: { run: number; device: number; block: MapBlock }) {
  const id = block.allocation ?? undefined;
  const key = id === undefined ? undefined : JSON.stringify(["block", run, device, id]);
  const loaded = useLoaded(key, (signal) =>
    source.memoryAllocation(run, device, id ?? 0, "allocations", signal),
  );
  const details = loaded.data?.id === id ? loaded.data : undefined;
  const frames = (details?.frames ?? []).filter((frame) => frame.python).slice(0, MAX_FRAMES);
  const name = STATES.find(({ state }) => state === block.state)?.name ?? block.state;
  return (
    <div class="snap-tip num">
      <p>
        <b>{bytes(block.bytes)}</b> {name}
      </p>
      {block.state === "mixed" && (
        <p class="quiet">
          {count(block.blocks)} blocks, {percent(block.used_bytes / Math.max(1, block.bytes))} in use
        </p>
      )}
      {frames.map((frame, at) => (
        <p key={at} class="quiet">
          <bdi>
            {frame.function} {shortPath(frame.file)}:{frame.line}
          </bdi>
        </p>
      ))}
      {id !== undefined && <p class="quiet">Click for everything about it</p>}
    </div>
  );
}
