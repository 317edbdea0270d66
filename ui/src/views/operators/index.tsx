// Operators, annotations and runtime calls: one table each, grouped, sorted and filtered by the server.

import type { OpRow, OpsAnswer, OpsTotals } from "../../data/wire.ts";
import { Browse, browseOptions, changeTable } from "../../parts/browse.tsx";
import { Choice } from "../../parts/choice.tsx";
import { chosenFields } from "../../parts/columns.tsx";
import { exactly } from "../../parts/filter.tsx";
import { Menu } from "../../parts/menu.tsx";
import { labelOf } from "../../parts/metric.tsx";
import { Proportion } from "../../parts/proportion.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { useRows } from "../../session/use-rows.ts";
import { choices, columns, GROUPS, type Group, PARTS, type Part, SORT_AS } from "./columns.tsx";
import { Detail } from "./detail.tsx";
import { Ledger } from "./ledger.tsx";

const TOP_ROWS = 12;

const PART_NAMES: Record<Part, { name: string; text: string }> = {
  ops: {
    name: "Operators",
    text: "Operators such as aten::mm, autograd nodes, collectives; instructions that XLA compiled.",
  },
  annotations: { name: "Annotations", text: "Ranges that the program or the profiler named." },
  calls: {
    name: "Runtime calls",
    text: "Host time in CUDA or HIP calls: launches, copies, synchronization.",
  },
};

const GROUP_NAMES: Record<Group, string> = {
  name: "Name",
  shape: "Input shapes",
  "shape-lists": "Input shapes with lists",
  stack: "Call site",
  overload: "Overload",
};

function oneOf<T extends string>(all: readonly T[], value: string | undefined): T {
  return all.find((one) => one === value) ?? (all[0] as T);
}

export function Operators() {
  const part = oneOf(PARTS, param("part"));
  const by = oneOf(GROUPS, param("by"));
  const chosen = {
    step: param("step"),
    device: param("device"),
    "by-launch": param("launch") === "1",
    "own-threads": param("own") === "1",
  };
  const options = { ...browseOptions(by, "name"), ...chosen };
  const table = useRows<OpRow>("ops", part, options);
  const { answer } = table;
  const byHost = useAsk<OpsAnswer>("ops", { sort: "host_self_ns", top: TOP_ROWS, ...chosen });
  const totals = (answer?.totals as OpsTotals | undefined) ?? byHost.data?.totals;
  const hasDevice = (totals?.total_device_self_ns ?? 0) > 0;
  const byDevice = useAsk<OpsAnswer>("ops", { sort: "device_self_ns", top: TOP_ROWS, ...chosen }, hasDevice);
  const all = choices(part, by, hasDevice);
  const shown = columns(
    chosenFields(all, param("cols")),
    totals,
    {
      device: byDevice.data?.ops[0]?.device_self_ns ?? totals?.total_device_self_ns ?? 1,
      host: byHost.data?.ops[0]?.host_self_ns ?? totals?.total_host_self_ns ?? 1,
    },
    answer?.definitions,
  );
  const usualSort =
    part === "annotations" ? "host_total_ns" : hasDevice && part === "ops" ? "device_self_ns" : "host_self_ns";
  const pick = (name: string) => setParams({ part: undefined, by: undefined, filter: exactly(name), open: 0 });
  return (
    <Browse
      view="operators"
      barsLabel="Where the time goes"
      bars={<Bars hasDevice={hasDevice} byDevice={byDevice.data} byHost={byHost.data} onPick={pick} />}
      grouping={<Grouping part={part} by={by} />}
      more={<CountingMenu />}
      table={table}
      label={PART_NAMES[part].name}
      command="ops"
      options={options}
      choices={all}
      columns={shown}
      usualSort={usualSort}
      sortAs={SORT_AS}
      detail={(row) => (
        <Detail
          key={JSON.stringify([row.name, row.stack, row.input_shapes])}
          row={row}
          part={part}
          hasDevice={hasDevice}
        />
      )}
      empty={NONE[part]}
      ledger={(rows) => totals && <Ledger rows={rows} totals={totals} of={answer?.definitions} />}
    />
  );
}

function Grouping({ part, by }: { part: Part; by: Group }) {
  return (
    <>
      <Choice
        label="Table"
        value={part}
        options={PARTS.map((value) => ({ value, ...PART_NAMES[value] }))}
        onChange={(value) =>
          changeTable({ part: value === "ops" ? undefined : value, sort: undefined, cols: undefined })
        }
      />
      <label>
        by
        <select
          value={by}
          onChange={(event) =>
            changeTable({ by: event.currentTarget.value === "name" ? undefined : event.currentTarget.value })
          }
        >
          {GROUPS.map((value) => (
            <option key={value} value={value}>
              {GROUP_NAMES[value]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function Bars(props: {
  hasDevice: boolean;
  byDevice: OpsAnswer | undefined;
  byHost: OpsAnswer | undefined;
  onPick: (name: string) => void;
}) {
  const { byDevice, byHost } = props;
  return (
    <>
      {props.hasDevice && byDevice && (
        <Proportion
          label={labelOf(byDevice.definitions, "device_self_ns")}
          total_ns={byDevice.totals.total_device_self_ns}
          portions={byDevice.ops.map((row) => ({ name: row.name, ns: row.device_self_ns }))}
          onPick={props.onPick}
        />
      )}
      {byHost && (
        <Proportion
          label={labelOf(byHost.definitions, "host_self_ns")}
          total_ns={byHost.totals.total_host_self_ns}
          portions={byHost.ops.map((row) => ({ name: row.name, ns: row.host_self_ns }))}
          onPick={props.onPick}
        />
      )}
    </>
  );
}

/** Two rules that may differ from those of PyTorch's tables. */
function CountingMenu() {
  const rules = [
    {
      name: "launch",
      label: "Attribute device work without an operator to the one around its launch.",
      text: "Useful for CUDA graphs and old traces. PyTorch's tables leave it out.",
    },
    {
      name: "own",
      label: "Keep runtime calls without an operator on their own thread.",
      text: "PyTorch's tables charge them to the main thread, which can make self times negative.",
    },
  ];
  return (
    <Menu name="How time is counted" label="Counting">
      {() => (
        <div class="column-choice counting">
          {rules.map(({ name, label, text }) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={param(name) === "1"}
                onChange={(event) => changeTable({ [name]: event.currentTarget.checked ? 1 : undefined })}
              />
              <span>
                {label}
                <span class="quiet"> {text}</span>
              </span>
            </label>
          ))}
        </div>
      )}
    </Menu>
  );
}

const NONE: Record<Part, { title: string; hint: string; code: string }> = {
  ops: {
    title: "No operators recorded.",
    hint: "Record CPU activity:",
    code: "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
  },
  annotations: {
    title: "No annotations recorded.",
    hint: "Annotate parts of your program:",
    code: 'with torch.profiler.record_function("forward"):\n    loss = model(batch)',
  },
  calls: {
    title: "No runtime calls recorded.",
    hint: "Record GPU activity too:",
    code: "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
  },
};
