// One allocation: how large, how long, where, and on whose behalf.

import { useState } from "preact/hooks";
import type { AllocationDetails, Definition } from "../../../data/types.ts";
import { Fact } from "../../../parts/facts.tsx";
import { bytes, count, percent, time } from "../../../parts/format.ts";
import { definition } from "../../../parts/metric.tsx";
import { SourceLink } from "../../../parts/source-link.tsx";
import { Card } from "../../../parts/states.tsx";

interface Props {
  details: AllocationDetails;
  of: "allocations" | "segments";
  definitions: Definition[];
  onClose: () => void;
}

export function Details({ details, of, definitions, onClose }: Props) {
  const text = (field: string) => definition(definitions, field);
  const isSegment = of === "segments";
  const rounding = details.bytes - details.requested_bytes;
  const since = details.before
    ? "before the history"
    : `${details.start_ns === null ? "" : `${time(details.start_ns)}, `}event ${count(details.start_state)}`;
  const until =
    details.end_state === null
      ? isSegment
        ? "held when the snapshot was taken"
        : "in use when the snapshot was taken"
      : `${details.end_ns === null ? "" : `${time(details.end_ns)}, `}event ${count(details.end_state)}`;
  return (
    <Card
      title={`${isSegment ? "Segment" : "Allocation"} of ${bytes(details.bytes)}`}
      class="snap-details"
      note={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      <dl class="snap-facts num">
        {!isSegment && (
          <Fact name="Requested" text={text("requested_bytes")}>
            {bytes(details.requested_bytes)}
            {rounding > 0 && <span class="quiet"> ({percent(rounding / details.bytes)} rounding)</span>}
          </Fact>
        )}
        <Fact name={isSegment ? "Taken" : "Allocated"}>{since}</Fact>
        <Fact name={isSegment ? "Returned" : "Freed"}>{until}</Fact>
        {details.lifetime_ns !== null && (
          <Fact name="Lifetime" text={text("lifetime_ns")}>
            {time(details.lifetime_ns)}
          </Fact>
        )}
        {details.pending_ns !== null && (
          <Fact name="Pending for" text={text("pending_ns")}>
            {time(details.pending_ns)}
          </Fact>
        )}
        <Fact name="Address">{details.address}</Fact>
        {!isSegment && details.segment && (
          <Fact name="Segment">
            {details.segment} <span class="quiet">({bytes(details.segment_bytes ?? 0)})</span>
          </Fact>
        )}
        {details.stream !== null && <Fact name="Stream">{details.stream}</Fact>}
        {details.pool !== null && <Fact name="Pool">{details.pool === "0.0" ? "default" : details.pool}</Fact>}
      </dl>
      <Stack details={details} />
    </Card>
  );
}

/** The stack, innermost first: Python's frames, and those of C++ if asked for. */
function Stack({ details }: { details: AllocationDetails }) {
  const [all, showAll] = useState(false);
  const native = details.frames.filter((frame) => !frame.python).length;
  const python = details.frames.length - native;
  const shown = all || python === 0 ? details.frames : details.frames.filter((frame) => frame.python);
  if (details.frames.length === 0)
    return (
      <p class="quiet">
        {details.before
          ? "It was allocated before the history begins, so its stack was not recorded."
          : 'No frame of Python was on the stack, as in the backward pass. Record with _record_memory_history(stacks="all") to see those of C++.'}
      </p>
    );
  return (
    <>
      <ol class="snap-stack" aria-label="Stack, innermost first">
        {shown.map((frame, at) => (
          <li key={at} class={isOwn(details, frame.file, frame.line) ? "own" : undefined}>
            <bdi class="snap-function">{frame.function}</bdi>
            {frame.file && <SourceLink file={frame.file} line={frame.line || null} />}
          </li>
        ))}
      </ol>
      {native > 0 && python > 0 && (
        <button type="button" class="quiet" onClick={() => showAll(!all)}>
          {all ? "Python frames only" : `Show ${count(native)} frames of C++`}
        </button>
      )}
      {details.more_frames > 0 && (
        <p class="quiet">{count(details.more_frames)} outer frames are not listed.</p>
      )}
    </>
  );
}

function isOwn(details: AllocationDetails, file: string, line: number): boolean {
  return details.place.file === file && details.place.line === line;
}
