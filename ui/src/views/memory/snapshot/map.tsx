// The allocator's map: each segment as a bar with its blocks by address, and how its free bytes are cut up.

import { useState } from "preact/hooks";
import type { Definition, Instant } from "../../../data/types.ts";
import type { MapBlock, MapSegment } from "../../../data/wire.ts";
import { Defined, definition } from "../../../parts/figure.tsx";
import { bytes, count, percent } from "../../../parts/format.ts";
import { shortPath } from "../../../parts/source-link.tsx";
import { Card } from "../../../parts/states.tsx";
import { hideTip, showTip } from "../../../parts/tip.tsx";
import { source } from "../../../session/state.ts";
import { useLoaded } from "../../../session/use-ask.ts";
import { many } from "./words.ts";

const ROWS = 12;
const MORE = 100;
/** The width of a bar in its own units. */
const UNITS = 10_000;

/** Frames of a stack in a tip. */
const FRAMES = 6;

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
  const [rows, setRows] = useState(ROWS);
  const { segments, segment_count, outside } = of.map;
  const text = (field: string) => definition(definitions, field);
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
        <table class="plain snap-map" aria-label="Segments">
          <thead>
            <tr>
              <th scope="col" class="num">
                Size
              </th>
              <Head text={text("allocated_bytes")}>In use</Head>
              <Head text={text("largest_free_bytes")}>Largest free</Head>
              <th scope="col">Kind</th>
              <th scope="col" class="num">
                Stream
              </th>
              {pools && <th scope="col">Pool</th>}
              <th scope="col" class="snap-map-bar">
                Blocks by address, each bar at its own scale
              </th>
            </tr>
          </thead>
          <tbody>
            {segments.slice(0, rows).map((segment) => (
              <tr key={segment.address}>
                <td class="num">{bytes(segment.bytes)}</td>
                <td class="num">{percent(segment.allocated_bytes / Math.max(1, segment.bytes))}</td>
                <td class="num">
                  {segment.largest_free_bytes > 0 ? (
                    bytes(segment.largest_free_bytes)
                  ) : (
                    <span class="quiet">none</span>
                  )}
                </td>
                <td>{kind(segment)}</td>
                <td class="num">{segment.stream ?? "–"}</td>
                {pools && <td>{segment.pool === "0.0" ? "default" : (segment.pool ?? "–")}</td>}
                <td class="snap-map-bar">
                  <Blocks run={run} device={device} segment={segment} onAllocation={onAllocation} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {segments.length > rows && (
        <p class="mem-more">
          <button type="button" onClick={() => setRows(rows + MORE)}>
            Show {count(Math.min(MORE, segments.length - rows))} more
          </button>
        </p>
      )}
      {(segment_count > segments.length || outside > 0) && (
        <p class="quiet mem-more">
          {segment_count > segments.length &&
            `The ${count(segments.length)} largest of ${count(segment_count)} segments are listed. `}
          {outside > 0 &&
            `${count(outside)} allocations lie in no segment: the history does not say where they are.`}
        </p>
      )}
    </Card>
  );
}

function Head({ text, children }: { text: string | undefined; children: string }) {
  return (
    <th scope="col" class="num">
      <Defined text={text}>{children}</Defined>
    </th>
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
  const scale = UNITS / Math.max(1, segment.bytes);
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
      viewBox={`0 0 ${UNITS} 10`}
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
  const frames = (details?.frames ?? []).filter((frame) => frame.python).slice(0, FRAMES);
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
