// Requests that the allocator could not meet, and why.

import type { MemoryDevice } from "../../../data/types.ts";
import type { RefusalRow } from "../../../data/wire.ts";
import { bytes, count } from "../../../parts/format.ts";
import { Card } from "../../../parts/states.tsx";
import { source } from "../../../session/state.ts";

const SHOWN = 3;

interface Props {
  rows: RefusalRow[];
  device: MemoryDevice;
  onState: (state: number) => void;
}

export function Refusals({ rows, device, onState }: Props) {
  // Both come in the order of the history.
  const own = rows.filter((row) => row.device === device.device);
  if (own.length === 0) return null;
  return (
    <Card title="Out of memory" class="snap-refusals">
      <ul>
        {own.slice(0, SHOWN).map((row, at) => {
          const moment = device.refusals[at];
          return (
            <li key={at}>
              {sentence(row)}{" "}
              {moment && !source.isReport && (
                <button type="button" class="link" onClick={() => onState(moment.state)}>
                  Show that moment
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {own.length > SHOWN && <p class="quiet">{count(own.length - SHOWN)} more requests failed.</p>}
    </Card>
  );
}

function sentence(row: RefusalRow): string {
  const asked = `A request for ${bytes(row.asked_bytes)} failed with ${bytes(row.allocated_bytes)} in use`;
  const limited =
    row.device_free_bytes >= row.asked_bytes ? ", which a limit on the process forbids to use" : "";
  const left = `the device had ${bytes(row.device_free_bytes)} left${limited}`;
  return row.why === "fragmentation"
    ? `${asked}. ${bytes(row.free_bytes)} of the reserved memory was free, but no stretch was longer than ${bytes(row.largest_free_bytes)}, and ${left}: the memory is fragmented. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.`
    : `${asked}: ${bytes(row.free_bytes)} was free inside the reserved memory, and ${left}. The table of lines at that moment says who held the rest.`;
}
