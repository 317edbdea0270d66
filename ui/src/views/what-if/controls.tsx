// The changes that can be combined: switches for common ones, sliders for operators and kernels.

import { useState } from "preact/hooks";
import type { Account } from "../../data/account.ts";
import type { KernelsAnswer, OpsAnswer, ReplayRow } from "../../data/wire.ts";
import { percent, shortName } from "../../parts/format.ts";
import { Defined } from "../../parts/metric.tsx";
import { hasDevice, scoped } from "../../parts/scope.tsx";
import { Card } from "../../parts/states.tsx";
import { useAsk } from "../../session/use-ask.ts";
import {
  CHANGES,
  type Faster,
  isEmpty,
  type Plan,
  SPEEDUPS,
  speedupLabel,
  stopOf,
  withChange,
  withSpeedup,
} from "./plan.ts";

const MAX_OPERATORS = 8;
const MAX_KERNELS = 6;

interface Target {
  name: string;
  share: number;
}

interface Props {
  plan: Plan;
  set: (plan: Plan) => void;
  tried: ReplayRow[] | undefined;
  account: Account | undefined;
}

export function Controls({ plan, set, tried, account }: Props) {
  const onDevice = hasDevice(account);
  const sort = onDevice ? "device_self_ns" : "host_self_ns";
  const ops = useAsk<OpsAnswer>("ops", { ...scoped(false), sort, top: MAX_OPERATORS }, account !== undefined);
  const kernels = useAsk<KernelsAnswer>(
    "kernels",
    { ...scoped(false), top: MAX_KERNELS, full: true },
    account !== undefined && onDevice,
  );
  const totals = ops.data?.totals;
  const all = (onDevice ? totals?.total_device_self_ns : totals?.total_host_self_ns) || 1;
  const longest: Target[] = (ops.data?.ops ?? [])
    .map((op) => ({ name: op.name, share: op[sort] / all }))
    .filter((op) => op.share > 0);
  const reset = (
    <button type="button" disabled={isEmpty(plan)} onClick={() => set({ changes: [], faster: [] })}>
      Reset
    </button>
  );
  return (
    <Card title="Changes" class="what-if-controls" note={reset}>
      <fieldset>
        <legend>Common changes</legend>
        {CHANGES.map((change) => {
          // What the trace has nothing of is not among the changes tried.
          const missing = tried !== undefined && !tried.some((row) => row.change === change.words);
          const nothing = onDevice ? "no FP32 matrix products with recorded shapes" : "no device";
          return (
            <label class="what-if-switch" key={change.option}>
              <input
                type="checkbox"
                checked={plan.changes.includes(change.option)}
                disabled={missing && !plan.changes.includes(change.option)}
                onChange={(event) => set(withChange(plan, change.option, event.currentTarget.checked))}
              />
              <span>
                <Defined text={change.text}>{change.label}</Defined>
                {missing && <span class="quiet small-text"> ({nothing})</span>}
              </span>
            </label>
          );
        })}
      </fieldset>
      <Sliders
        kind="op"
        legend="Operators"
        text="Speeds up the device work of the operator and everything it calls, or its host time if it has no device work. Listed are the longest by self time, with their share of the total."
        targets={longest}
        plan={plan}
        set={set}
      />
      {onDevice && (
        <Sliders
          kind="kernel"
          legend="Kernels"
          text="Speeds up kernels whose name contains this text. If their operator is sped up too, both apply."
          targets={kernels.data?.kernels ?? []}
          plan={plan}
          set={set}
        />
      )}
      <Another plan={plan} set={set} onDevice={onDevice} />
    </Card>
  );
}

function Sliders(props: {
  kind: Faster["kind"];
  legend: string;
  text: string;
  targets: Target[];
  plan: Plan;
  set: (plan: Plan) => void;
}) {
  const { kind, plan, targets } = props;
  const chosen = plan.faster.filter((one) => one.kind === kind);
  const others = chosen.filter((one) => !targets.some((target) => target.name === one.name));
  const rows: { name: string; share?: number }[] = [...targets, ...others];
  if (rows.length === 0) return null;
  return (
    <fieldset>
      <legend>
        <Defined text={props.text}>{props.legend}</Defined>
      </legend>
      {rows.map((row) => {
        const speedup = chosen.find((one) => one.name === row.name)?.speedup ?? 1;
        return (
          <label class="what-if-slider" key={row.name} title={row.name}>
            <span class="what-if-slider-name">
              <bdi>{shortName(row.name)}</bdi>
            </span>
            <span class="num quiet">{row.share === undefined ? "" : percent(row.share)}</span>
            <input
              type="range"
              min={0}
              max={SPEEDUPS.length - 1}
              step={1}
              value={stopOf(speedup)}
              aria-valuetext={speedup === 1 ? "as measured" : `${speedupLabel(speedup)} faster`}
              onInput={(event) => {
                const stop = SPEEDUPS[Number(event.currentTarget.value)] ?? 1;
                props.set(withSpeedup(plan, kind, row.name, stop));
              }}
            />
            <output class={speedup === 1 ? "num quiet" : "num what-if-set"}>{speedupLabel(speedup)}</output>
          </label>
        );
      })}
    </fieldset>
  );
}

/** Anything else that has a name in the trace. */
function Another({ plan, set, onDevice }: { plan: Plan; set: (plan: Plan) => void; onDevice: boolean }) {
  const [kind, setKind] = useState<Faster["kind"]>("op");
  const [name, setName] = useState("");
  return (
    <form
      class="what-if-another"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === "") return;
        set(withSpeedup(plan, kind, name.trim(), 2));
        setName("");
      }}
    >
      <select
        aria-label="What to speed up: an operator or range by name, or kernels whose name contains a text"
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value === "kernel" ? "kernel" : "op")}
      >
        <option value="op">Operator</option>
        {onDevice && <option value="kernel">Kernels containing</option>}
      </select>
      <input
        type="text"
        aria-label="Name"
        placeholder={kind === "op" ? "aten::linear" : "elementwise"}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit">Add</button>
    </form>
  );
}
