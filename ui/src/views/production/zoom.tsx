// Ways to look closer: at a stretch of time, or at what was around a moment.

import type { ServiceDashboard } from "../../data/production-types.ts";
import { pushParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { shortMoment, type Zone } from "./clock.ts";
import { around } from "./period.ts";

/** Shows a stretch; a report holds one period only. */
export function zoomTo(stretch: { from: number; until: number } | undefined): void {
  if (stretch && !source.isReport) pushParams(stretch);
}

/** A moment that is looked at closer with a click. */
export function MomentLink({ minute, of, zone }: { minute: number; of: ServiceDashboard; zone: Zone }) {
  const stretch = around(minute, of);
  return (
    <button
      type="button"
      class="link sv-moment-link"
      disabled={!stretch || source.isReport}
      onClick={() => zoomTo(stretch)}
    >
      {shortMoment(minute, of.until, zone)}
    </button>
  );
}
