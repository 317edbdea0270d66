// The line below the table: what the rows add up to, and what belongs to none of them.

import type { OpsTotals } from "../../data/wire.ts";
import { many, time } from "../../parts/format.ts";
import { type Definitions, Label } from "../../parts/metric.tsx";
import { param, setParams } from "../../session/route.ts";

const FIELDS = [
  "total_host_self_ns",
  "total_device_self_ns",
  "device_time_in_ops_ns",
  "device_time_in_annotations_ns",
  "device_time_unlinked_ns",
  "device_time_elsewhere_ns",
  "device_time_overlap_ns",
] as const;

export function Ledger({ rows, totals, of }: { rows: number; totals: OpsTotals; of: Definitions }) {
  const findable = totals.device_time_by_launch_ns;
  return (
    <footer class="ledger">
      <span>{many(rows, "row")}</span>
      {FIELDS.map(
        (field) =>
          totals[field] !== 0 && (
            <span key={field} class={field === "device_time_unlinked_ns" ? "warned" : undefined}>
              <Label of={of} field={field} /> <b class="num">{time(totals[field])}</b>
            </span>
          ),
      )}
      {findable > 0 && param("launch") === undefined && (
        <button type="button" class="link" onClick={() => setParams({ launch: 1, open: undefined })}>
          Attribute {time(findable)} to the operators that launched it
        </button>
      )}
    </footer>
  );
}
