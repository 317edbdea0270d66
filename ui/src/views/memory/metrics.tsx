// The numbers of one device, and what to know about them.

import type { Definition } from "../../data/types.ts";
import type { DeviceMemory } from "../../data/wire.ts";
import { bytes, many, percent, time } from "../../parts/format.ts";
import { Defined, definition, Metric } from "../../parts/metric.tsx";

interface Props {
  device: DeviceMemory;
  definitions: Definition[] | undefined;
}

export function Metrics({ device, capacity, definitions }: Props & { capacity: number | undefined }) {
  const share = capacity ? device.peak_allocated_bytes / capacity : undefined;
  const metric = (field: keyof DeviceMemory, value: number, note?: string) => (
    <Metric of={definitions} field={field} value={bytes(value)} note={note} />
  );
  return (
    <div class="metrics mem-metrics">
      {metric(
        "peak_allocated_bytes",
        device.peak_allocated_bytes,
        `at ${time(device.peak_at_ns)}${share === undefined ? "" : `, ${percent(share)} of device`}`,
      )}
      {device.peak_reserved_bytes !== null &&
        device.peak_reserved_bytes > 0 &&
        metric(
          "peak_reserved_bytes",
          device.peak_reserved_bytes,
          capacity ? `${percent(device.peak_reserved_bytes / capacity)} of device` : undefined,
        )}
      {metric(
        "opening_allocated_bytes",
        device.opening_allocated_bytes,
        `at end ${bytes(device.closing_allocated_bytes)}`,
      )}
      {metric("allocated_bytes", device.allocated_bytes, many(device.allocation_count, "allocation"))}
      {metric("freed_bytes", device.freed_bytes, many(device.free_count, "free"))}
      {metric("still_live_bytes", device.still_live_bytes, many(device.still_live, "allocation"))}
    </div>
  );
}

/** What was not seen or had to be guessed; nothing where all is well. */
export function Notes({ device, definitions }: Props) {
  const text = (field: string) => definition(definitions, field);
  const parts: { field: string; words: string }[] = [];
  const say = (field: string, words: string | false) => words && parts.push({ field, words });
  say(
    "unmatched_frees",
    device.unmatched_frees > 0 &&
      `${many(device.unmatched_frees, "free")} (${bytes(device.unmatched_free_bytes)}) of memory allocated before recording`,
  );
  say(
    "unseen_releases",
    device.unseen_releases > 0 &&
      `${many(device.unseen_releases, "allocation")} whose address was reused without a recorded free`,
  );
  say(
    "level_gaps",
    device.level_gaps > 0 && `${many(device.level_gaps, "gap")} in the totals: some events are missing`,
  );
  say(
    "peak_allocated_bytes",
    !device.totals_from_file && "no totals in the file: the curve is a running sum of its events",
  );
  say("duration_ns", !device.lifetimes_from_file && "some events have no address: lifetimes are incomplete");
  say(
    "curve",
    device.curve_sampled && "the curve is downsampled, peaks preserved: select a range to see every event",
  );
  if (parts.length === 0) return null;
  return (
    <ul class="mem-notes quiet">
      {parts.map(({ field, words }) => (
        <li key={field}>
          <Defined text={text(field)}>{words}</Defined>
        </li>
      ))}
    </ul>
  );
}
