// One bar: how a whole is shared out among its largest parts. Lengths are compared, so colors need not mean anything.

import { percent, shortName, time } from "./format.ts";
import { tipOn } from "./tip.tsx";

export interface Portion {
  name: string;
  ns: number;
}

/** Parts of at least this share have room for their name. */
const MIN_NAMED_SHARE = 0.05;

export function Proportion(props: {
  /** What is shared out: `Device self`. */
  label: string;
  total_ns: number;
  portions: Portion[];
  /** A click on a part. */
  onPick?: (name: string) => void;
}) {
  const { total_ns } = props;
  const portions = props.portions.filter((p) => p.ns > 0);
  if (total_ns <= 0 || portions.length === 0) return null;
  const rest = total_ns - portions.reduce((sum, p) => sum + p.ns, 0);
  return (
    <div class="proportion">
      <span class="proportion-label">
        {props.label} <b class="num">{time(total_ns)}</b>
      </span>
      <div class="proportion-bar">
        {portions.map((p) => (
          <button
            key={p.name}
            type="button"
            style={{ flexGrow: p.ns }}
            onClick={() => props.onPick?.(p.name)}
            {...tipOn(<PortionTip name={p.name} ns={p.ns} total={total_ns} />)}
          >
            <bdi class={p.ns / total_ns >= MIN_NAMED_SHARE ? undefined : "sr-only"}>
              {shortName(p.name).slice(0, 300)}
            </bdi>
            <span class="sr-only">
              : {time(p.ns)}, {percent(p.ns / total_ns)}
            </span>
          </button>
        ))}
        {rest > 0 && (
          <span
            class="rest"
            style={{ flexGrow: rest }}
            {...tipOn(<PortionTip name="everything else" ns={rest} total={total_ns} />)}
          >
            {rest / total_ns >= MIN_NAMED_SHARE && "others"}
          </span>
        )}
      </div>
    </div>
  );
}

function PortionTip({ name, ns, total }: { name: string; ns: number; total: number }) {
  return (
    <>
      <strong>
        <bdi>{name.length > 400 ? `${name.slice(0, 400)}…` : name}</bdi>
      </strong>
      <br />
      {time(ns)}, {percent(ns / total)}
    </>
  );
}
