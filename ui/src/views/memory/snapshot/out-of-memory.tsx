// Requests that the allocator could not meet: why, and what held the memory then.

import type { Definition, MemoryDevice } from "../../../data/types.ts";
import type { HolderRow, MemoryOutOfMemory, Obstacle, OomRow } from "../../../data/wire.ts";
import { bytes, count } from "../../../parts/format.ts";
import { Metric, Share } from "../../../parts/metric.tsx";
import { functionColumn, PlainTable, placeColumn } from "../../../parts/plain-table.tsx";
import { Await, Card } from "../../../parts/states.tsx";
import { useAsk } from "../../../session/use-ask.ts";

const REASONS: Record<Obstacle, string> = {
  fragmentation: "fragmentation",
  "set apart": "free memory was set apart",
  shortage: "a shortage",
};

interface Props {
  device: MemoryDevice;
  onState: (state: number) => void;
}

export function OutOfMemory({ device, onState }: Props) {
  const asked = useAsk<MemoryOutOfMemory>("memory", { oom: true }, device.refusal_count > 0);
  if (device.refusal_count === 0) return null;
  return (
    <Await of={asked}>
      {(data) => {
        const rows = data.out_of_memory.filter((row) => row.device === device.device);
        // Programs that catch the error and try again have many; the last one counts.
        const last = rows.at(-1);
        const holders = data.holders.filter(
          (row) => row.device === device.device && row.refusal === last?.refusal,
        );
        return last ? <One row={last} holders={holders} data={data} device={device} onState={onState} /> : null;
      }}
    </Await>
  );
}

function One(props: Props & { row: OomRow; holders: HolderRow[]; data: MemoryOutOfMemory }) {
  const { row, holders, device, onState } = props;
  const definitions = props.data.definitions ?? [];
  const moment = device.refusals[row.refusal - 1];
  const note =
    device.refusal_count > 1 ? `the last of ${count(device.refusal_count)} requests that failed` : undefined;
  const metric = (field: string, value: number, note?: string) => (
    <Metric of={definitions} field={field} value={bytes(value)} note={note} />
  );
  return (
    <Card title={`Out of memory: ${REASONS[row.why]}`} class="snap-oom largest" note={note}>
      <p class="snap-note">
        {row.text}{" "}
        {moment && (
          <button type="button" class="link" onClick={() => onState(moment.state)}>
            Show that moment
          </button>
        )}
      </p>
      <div class="metrics">
        {metric("asked_bytes", row.asked_bytes)}
        {row.why === "shortage" && metric("missing_bytes", row.missing_bytes)}
        {metric("allocated_bytes_now", row.allocated_bytes)}
        {metric("free_bytes", row.free_bytes)}
        {metric("largest_free_bytes", row.largest_free_bytes)}
        {metric("device_free_bytes", row.device_free_bytes, row.limited ? "not for this process" : undefined)}
      </div>
      <Holders rows={holders} definitions={definitions} />
    </Card>
  );
}

function Holders({ rows, definitions }: { rows: HolderRow[]; definitions: Definition[] }) {
  if (rows.length === 0) return null;
  return (
    <div class="snap-scroll">
      <PlainTable
        label="What held most then"
        of={definitions}
        rows={rows}
        columns={[
          functionColumn("What held most then"),
          "held_bytes",
          { field: "held_share", cell: (row) => <Share share={row.held_share} /> },
          "held_count",
          {
            label: "A guess",
            text: "What most of it was for, guessed from who allocated and who freed it.",
            as: "text",
            cell: (row) => row.category,
          },
          placeColumn(),
        ]}
      />
    </div>
  );
}
