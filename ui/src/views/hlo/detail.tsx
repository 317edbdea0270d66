// Below an opened row: all that is known of the instruction, and where it is in its program.

import { exactly } from "../../parts/filter.tsx";
import { bytes, count, flops, percent, time } from "../../parts/format.ts";
import { OnTimeline } from "../../parts/links.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Ticked } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { Neighborhood } from "./graph.tsx";
import type { Group, InstructionRow } from "./types.ts";

/** Why a row may be above a peak, by the server's word for it. */
const OVER: Record<string, string> = {
  cache:
    "Above the memory's peak: some of the bytes never left the cache, or fewer were needed than the shapes say.",
  arithmetic:
    "Above the peak: the device clocks above its data sheet, or the arithmetic is narrower than the type of the inputs.",
  host_bus: "Above the peak of the bus: the host has a faster one.",
};

export function Detail({ row, by }: { row: InstructionRow; by: Group }) {
  const start = row.first_ns;
  return (
    <div class="hlo-detail">
      <dl class="hlo-facts">
        {row.op_path !== null && (
          <>
            <dt>From</dt>
            <dd class="mono-name">
              <bdi>{row.op_path}</bdi>
            </dd>
          </>
        )}
        {row.file !== null && (
          <>
            <dt>Line</dt>
            <dd>
              <SourceLink file={row.file} line={row.line} />
            </dd>
          </>
        )}
        {row.shape !== null && (
          <>
            <dt>Result</dt>
            <dd class="mono-name">
              <bdi>{row.shape}</bdi>
            </dd>
          </>
        )}
        {row.fused !== null && (
          <>
            <dt>Fused</dt>
            <dd>{row.fused}</dd>
          </>
        )}
        <dt>Ran</dt>
        <dd>
          {count(row.calls)} {row.calls === 1 ? "time" : "times"}, {time(row.self_ns)}
          {row.total_ns !== row.self_ns && <> of its own, {time(row.total_ns)} with what ran inside it</>}
          {row.flops !== null && row.flops > 0 && <>, {flops(row.flops)}</>}
          {row.bytes !== null && <>, {bytes(row.bytes)} read and written</>}.{" "}
          <OnTimeline
            start={start}
            length={row.first_end_ns - start}
            label={`Show on the timeline: ${row.name}`}
          >
            Show on the timeline
          </OnTimeline>
        </dd>
        {row.by_order_ns > 0 && (
          <>
            <dt>Known by</dt>
            <dd>
              {row.by_order_ns === row.self_ns ? "The" : percent(row.by_order_ns / Math.max(1, row.self_ns))}{" "}
              order of a captured graph: its kernels name no instruction, and run in the order of the program's
              schedule.
            </dd>
          </>
        )}
        {row.note !== null && (
          <>
            <dt>Peak</dt>
            <dd class="warned">
              <Ticked text={OVER[row.note] ?? ""} />
            </dd>
          </>
        )}
      </dl>
      {by === "instruction" &&
        (source.isReport ? (
          <p class="quiet">
            What is around it in its program is not part of a report: open the profile to see it.
          </p>
        ) : (
          <Neighborhood name={row.name} program={row.program_id ?? undefined} />
        ))}
      {by === "program" && row.program_id !== null && (
        <p>
          <a href={href("hlo", { program: row.program_id })}>Instructions of this program</a>
        </p>
      )}
      {by === "instruction" && (
        <p>
          <a href={href("operators", { filter: exactly(row.name) })}>Among the operators</a>
        </p>
      )}
    </div>
  );
}
