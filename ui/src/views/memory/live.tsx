// What was live when memory was highest: what had allocated it, by operator or by Python stack.

import type { Definition } from "../../data/types.ts";
import type { DeviceMemory, LiveStack } from "../../data/wire.ts";
import { Choice } from "../../parts/choice.tsx";
import { bytes, count, many, percent, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { showRange } from "../../parts/jump.tsx";
import { Bar, definition } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";

const BY = [
  { value: "operator", name: "By operator" },
  { value: "stack", name: "By stack" },
] as const;
const FIRST_ROWS = 12;
/** What is shown around the peak on the timeline: enough to see what ran. */
const PEAK_SPAN_NS = 200_000;
const UNKNOWN = "(allocated before recording or unknown)";

export function LiveAtPeak({
  device,
  definitions,
}: {
  device: DeviceMemory;
  definitions: Definition[] | undefined;
}) {
  const by = param("live") === "stack" ? "stack" : "operator";
  const all = param("all") === "1";
  const rows: (LiveStack | DeviceMemory["peak_by_operator"][number])[] =
    by === "stack" ? device.peak_by_stack : device.peak_by_operator;
  const shown = all ? rows : rows.slice(0, FIRST_ROWS);
  const largest = rows.reduce((most, row) => Math.max(most, row.bytes), 0);
  const peak = device.peak_allocated_bytes;
  return (
    <Card
      title="Live at the peak"
      text={definition(definitions, "peak_by_operator")}
      note={
        <span class="mem-live-note">
          <button
            type="button"
            class="jump"
            title="Show the peak on the timeline"
            onClick={() => showRange(device.peak_at_ns, device.peak_at_ns + PEAK_SPAN_NS)}
          >
            <Icon name="jump" size={14} /> {bytes(peak)} at {time(device.peak_at_ns)}
          </button>
          <Choice
            label="Group by"
            options={BY}
            value={by}
            onChange={(value) => setParams({ live: value === "operator" ? undefined : value })}
          />
        </span>
      }
    >
      <ul class="mem-live">
        {shown.map((row, at) => (
          <li key={at} class={row.operator === UNKNOWN ? "unknown" : undefined}>
            <span class="mem-live-name" title={row.operator}>
              <bdi>{row.operator}</bdi>
              {"frames" in row && row.frames.length > 0 && <Frames frames={row.frames} />}
            </span>
            <Bar share={largest > 0 ? row.bytes / largest : 0} />
            <span class="num">{bytes(row.bytes)}</span>
            <span class="num quiet">{percent(peak > 0 ? row.bytes / peak : 0)}</span>
            <span class="num quiet mem-live-count">
              {row.count === null ? "" : many(row.count, "allocation")}
            </span>
          </li>
        ))}
      </ul>
      {rows.length > FIRST_ROWS && (
        <button type="button" class="mem-more" onClick={() => setParams({ all: all ? undefined : "1" })}>
          {all ? "Show fewer" : `Show all ${count(rows.length)}`}
        </button>
      )}
    </Card>
  );
}

function Frames({ frames }: { frames: string[] }) {
  return (
    <span class="mem-frames quiet" title={frames.join("\n")}>
      {frames.map((frame, at) => (
        <span key={at}>
          {at > 0 && " ← "}
          <bdi>{frame.slice(0, 200)}</bdi>
        </span>
      ))}
    </span>
  );
}
