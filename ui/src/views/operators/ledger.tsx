// The line below the table: what the rows add up to, and what belongs to none of them.

import { Defined } from "../../parts/figure.tsx";
import { count, time } from "../../parts/format.ts";
import { param, setParams } from "../../session/route.ts";
import type { Totals } from "./types.ts";

export function Ledger(props: { rows: number; totals: Totals; text: (field: string) => string | undefined }) {
  const { totals, text } = props;
  const findable = totals.device_time_by_launch_ns;
  return (
    <footer class="ledger">
      <span>{count(props.rows)} rows</span>
      <Entry name="Host self" ns={totals.total_host_self_ns} text={text("total_host_self_ns")} />
      <Entry name="Device" ns={totals.total_device_self_ns} text={text("total_device_self_ns")} />
      <Entry name="in operators" ns={totals.device_time_in_ops_ns} text={text("device_time_in_ops_ns")} />
      <Entry
        name="only in annotations"
        ns={totals.device_time_in_annotations_ns}
        text={text("device_time_in_annotations_ns")}
      />
      <Entry
        name="without operator"
        ns={totals.device_time_unlinked_ns}
        text={text("device_time_unlinked_ns")}
        warn
      />
      <Entry
        name="operators not shown"
        ns={totals.device_time_elsewhere_ns}
        text={text("device_time_elsewhere_ns")}
      />
      <Entry name="overlapped" ns={totals.device_time_overlap_ns} text={text("device_time_overlap_ns")} />
      {findable > 0 && param("launch") === undefined && (
        <button type="button" class="link" onClick={() => setParams({ launch: 1, open: undefined })}>
          Attribute {time(findable)} to the operators that launched it
        </button>
      )}
    </footer>
  );
}

function Entry(props: { name: string; ns: number; text?: string | undefined; warn?: boolean }) {
  if (props.ns === 0) return null;
  return (
    <span class={props.warn ? "warned" : undefined}>
      <Defined text={props.text}>{props.name}</Defined> <b class="num">{time(props.ns)}</b>
    </span>
  );
}
