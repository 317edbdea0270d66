// Requests that the allocator could not meet: why, and what held the memory then.

import type { Definition, MemoryDevice } from "../../../data/types.ts";
import type { HolderRow, MemoryOutOfMemory, Obstacle, OomRow } from "../../../data/wire.ts";
import { Defined, definition, Figure, Share } from "../../../parts/figure.tsx";
import { bytes, count } from "../../../parts/format.ts";
import { SourceLink } from "../../../parts/source-link.tsx";
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
  const text = (field: string) => definition(definitions, field);
  const isShortage = row.why === "shortage";
  return (
    <Card title={`Out of memory: ${REASONS[row.why]}`} class="snap-oom largest" note={note}>
      <p class="snap-told">
        {row.told}{" "}
        {moment && (
          <button type="button" class="link" onClick={() => onState(moment.state)}>
            Show that moment
          </button>
        )}
      </p>
      <div class="figures">
        <Figure label="Asked for" value={bytes(row.asked_bytes)} text={text("asked_bytes")} />
        {isShortage && <Figure label="Missing" value={bytes(row.missing_bytes)} text={text("missing_bytes")} />}
        <Figure label="In use then" value={bytes(row.allocated_bytes)} text={text("allocated_bytes_now")} />
        <Figure label="Free inside" value={bytes(row.free_bytes)} text={text("free_bytes")} />
        <Figure label="Largest free" value={bytes(row.largest_free_bytes)} text={text("largest_free_bytes")} />
        <Figure
          label="Left on device"
          value={bytes(row.device_free_bytes)}
          text={text("device_free_bytes")}
          {...(row.limited ? { note: "not for this process" } : {})}
        />
      </div>
      <Holders rows={holders} definitions={definitions} />
    </Card>
  );
}

function Holders({ rows, definitions }: { rows: HolderRow[]; definitions: Definition[] }) {
  if (rows.length === 0) return null;
  const head = (field: string, label: string) => (
    <th scope="col" class="num">
      <Defined text={definition(definitions, field)}>{label}</Defined>
    </th>
  );
  return (
    <div class="snap-scroll">
      <table class="plain" aria-label="What held most then">
        <thead>
          <tr>
            <th scope="col">What held most then</th>
            {head("held_bytes", "Held")}
            {head("held_share", "Share")}
            {head("held_count", "Pieces")}
            <th scope="col">
              <Defined text="What most of it was for, guessed from who allocated and who freed it.">
                A guess
              </Defined>
            </th>
            <th scope="col" class="hot-place">
              Where
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.file}:${row.line} ${row.function}`}>
              <td class="name">
                <bdi>{row.function}</bdi>
              </td>
              <td class="num">{bytes(row.held_bytes)}</td>
              <td class="num">
                <Share share={row.held_share} />
              </td>
              <td class="num">{count(row.held_count)}</td>
              <td>{row.category}</td>
              <td class="hot-place quiet">
                {row.file && <SourceLink file={row.file} line={row.line || null} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
