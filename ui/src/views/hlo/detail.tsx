// Below an opened row: all that is known of the instruction, and where it is in its program.

import type { InstructionRow } from "../../data/wire.ts";
import { Facts } from "../../parts/facts.tsx";
import { exactly } from "../../parts/filter.tsx";
import { bytes, flops, many, percent, time } from "../../parts/format.ts";
import { OnTimeline } from "../../parts/links.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Ticked } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import type { Group } from "./columns.tsx";
import { Neighborhood } from "./graph.tsx";

/** Why a row may be above a peak, by the server's word for it. */
const OVER: Record<string, string> = {
  cache:
    "Above the memory's peak: some of the bytes never left the cache, or fewer were needed than the shapes say.",
  arithmetic:
    "Above the peak: the device clocks above its data sheet, or the arithmetic is narrower than the type of the inputs.",
  host_bus: "Above the peak of the bus: the host has a faster one.",
};

export function Detail({ row, by }: { row: InstructionRow; by: Group }) {
  return (
    <div class="hlo-detail">
      <Facts
        class="hlo-facts"
        of={[
          row.op_path !== null && ["From", <bdi class="mono-name">{row.op_path}</bdi>],
          row.file !== null && ["Line", <SourceLink file={row.file} line={row.line} />],
          row.shape !== null && ["Result", <bdi class="mono-name">{row.shape}</bdi>],
          row.fused !== null && ["Fused", row.fused],
          ["Ran", <Ran row={row} />],
          row.by_order_ns > 0 && [
            "Known by",
            <>
              {row.by_order_ns === row.self_ns ? "The" : percent(row.by_order_ns / Math.max(1, row.self_ns))}{" "}
              order of a captured graph: its kernels name no instruction, and run in the order of the program's
              schedule.
            </>,
          ],
          row.note !== null && [
            "Peak",
            <span class="warned">
              <Ticked text={OVER[row.note] ?? ""} />
            </span>,
          ],
        ]}
      />
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

function Ran({ row }: { row: InstructionRow }) {
  const start = row.first_ns;
  return (
    <>
      {many(row.calls, "time")}, {time(row.self_ns)}
      {row.total_ns !== row.self_ns && <> of its own, {time(row.total_ns)} with what ran inside it</>}
      {row.flops !== null && row.flops > 0 && <>, {flops(row.flops)}</>}
      {row.bytes !== null && <>, {bytes(row.bytes)} read and written</>}.{" "}
      <OnTimeline start={start} length={row.first_end_ns - start} label={`Show on the timeline: ${row.name}`}>
        Show on the timeline
      </OnTimeline>
    </>
  );
}
