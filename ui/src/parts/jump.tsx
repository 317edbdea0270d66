// From a table to the timeline: a slice is shown selected, with some room around it.

import { go } from "../session/route.ts";
import { time } from "./format.ts";
import { Icon } from "./icons.tsx";

/** A slice, enough to show it. */
export interface Place {
  id: number;
  name: string;
  start_ns: number;
  dur_ns: number;
}

/** The window that shows a stretch of time with its surroundings. */
export function windowAround(start_ns: number, dur_ns: number): { from: number; to: number } {
  const room = Math.max(2 * dur_ns, 1000);
  return { from: Math.max(0, Math.floor(start_ns - room)), to: Math.ceil(start_ns + dur_ns + room) };
}

/** Goes to the timeline with this slice selected. */
export function showSlice({ id, start_ns, dur_ns }: Place): void {
  go("timeline", { sel: id, ...windowAround(start_ns, dur_ns) });
}

/** Goes to a stretch of the timeline. */
export function showRange(from_ns: number, to_ns: number): void {
  go("timeline", windowAround(from_ns, to_ns - from_ns));
}

/** A small button that shows a slice on the timeline. */
export function JumpButton({ place, label }: { place: Place; label?: string }) {
  return (
    <button
      type="button"
      class="jump"
      title="Show on the timeline"
      aria-label={`${label ?? "Show on the timeline"}: ${place.name.slice(0, 200)}, ${time(place.dur_ns)}`}
      onClick={() => showSlice(place)}
    >
      <Icon name="jump" size={14} />
      {label}
    </button>
  );
}
