// The numbers of one device, and what to know about them.

import type { Definition } from "../../data/types.ts";
import { Defined, definition, Figure } from "../../parts/figure.tsx";
import { bytes, count, percent, time } from "../../parts/format.ts";
import type { DeviceMemory } from "./types.ts";

interface Props {
  device: DeviceMemory;
  definitions: Definition[] | undefined;
}

export function Figures({ device, capacity, definitions }: Props & { capacity: number | undefined }) {
  const share = capacity ? device.peak_allocated_bytes / capacity : undefined;
  const text = (field: string) => definition(definitions, field);
  return (
    <div class="figures mem-figures">
      <Figure
        label="Peak allocated"
        value={bytes(device.peak_allocated_bytes)}
        text={text("peak_allocated_bytes")}
        note={`at ${time(device.peak_at_ns)}${share === undefined ? "" : `, ${percent(share)} of device`}`}
      />
      {device.peak_reserved_bytes !== null && device.peak_reserved_bytes > 0 && (
        <Figure
          label="Peak reserved"
          value={bytes(device.peak_reserved_bytes)}
          text={text("peak_reserved_bytes")}
          note={capacity ? `${percent(device.peak_reserved_bytes / capacity)} of device` : undefined}
        />
      )}
      <Figure
        label="At start"
        value={bytes(device.opening_allocated_bytes)}
        text={text("opening_allocated_bytes")}
        note={`at end ${bytes(device.closing_allocated_bytes)}`}
      />
      <Figure
        label="Total allocated"
        value={bytes(device.allocated_bytes)}
        text={text("allocated_bytes")}
        note={many(device.allocation_count, "allocation")}
      />
      <Figure
        label="Total freed"
        value={bytes(device.freed_bytes)}
        text={text("freed_bytes")}
        note={many(device.free_count, "free")}
      />
      <Figure
        label="Still live"
        value={bytes(device.still_live_bytes)}
        text={text("still_live")}
        note={many(device.still_live, "allocation")}
      />
    </div>
  );
}

function many(number: number, one: string): string {
  return `${count(number)} ${one}${number === 1 ? "" : "s"}`;
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
