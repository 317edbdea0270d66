// How long each step waited for its batch, and what of that kept the device idle.

import type { Account } from "../../data/account.ts";
import { rowsOf } from "../../data/rows.ts";
import type { LoadingAnswer } from "../../data/wire.ts";
import { StepColumns } from "../../parts/charts/step-columns.tsx";
import { percent, time } from "../../parts/format.ts";
import { stepTitle } from "../../parts/key-names.ts";
import { Name } from "../../parts/links.tsx";
import { definition, Metric, Share } from "../../parts/metric.tsx";
import { scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { defined, Table } from "../../parts/table.tsx";
import { useAsk } from "../../session/use-ask.ts";

const MARKED = `with torch.profiler.record_function("data loading"):
    batch = next(batches)`;

export function LoadingTab(_: { account: Account | undefined }) {
  const loading = useAsk<LoadingAnswer>("loading", { ...scoped(false), top: 0 });
  return (
    <Await of={loading}>
      {(answer) =>
        answer.totals.loading_ns === 0 ? (
          <Empty
            title="No data loading in these steps."
            hint="PyTorch's DataLoader is recognized automatically. Mark your own loader with a range:"
            code={MARKED}
          />
        ) : (
          <div class="card-column">
            <Totals answer={answer} />
            <div class="card-pair">
              <Steps answer={answer} />
              <Operators answer={answer} />
            </div>
          </div>
        )
      }
    </Await>
  );
}

function Totals({ answer }: { answer: LoadingAnswer }) {
  const { loading_ns, exposed_ns, wall_ns } = answer.totals;
  const part = (field: "loading_ns" | "exposed_ns") => {
    const share = answer.totals[field] / Math.max(1, wall_ns);
    const note = `${percent(share)} of step time`;
    const value = time(answer.totals[field]);
    return <Metric of={answer.definitions} field={field} value={value} note={note} share={share} />;
  };
  const workers = answer.workers === null ? "unknown" : answer.workers ? "yes" : "no";
  return (
    <Card title="Data loading" note={answer.range ? <Name name={answer.range} /> : undefined}>
      <div class="metrics">
        {part("loading_ns")}
        {part("exposed_ns")}
        <Metric
          label="Hidden"
          value={percent((loading_ns - exposed_ns) / Math.max(1, loading_ns))}
          note="of loading time"
          share={(loading_ns - exposed_ns) / Math.max(1, loading_ns)}
          text="The share of loading time during which a device was working."
        />
        <Metric of={answer.definitions} field="workers" value={workers} />
      </div>
    </Card>
  );
}

/** Loading that is nearly nothing beside the steps is drawn on a scale of its own. */
const SMALL_LOADING_SHARE = 0.15;

function Steps({ answer }: { answer: LoadingAnswer }) {
  const text = (field: string) => definition(answer.definitions, field);
  const most = Math.max(1, ...answer.loading.map((row) => row.loading_ns));
  const small = most < SMALL_LOADING_SHARE * Math.max(1, ...answer.loading.map((row) => row.wall_ns));
  return (
    <Card title="Per step" text={text("exposed_ns")}>
      <StepColumns
        name="Data loading per step"
        columns={answer.loading.map((row) => ({
          step: row.step,
          whole: small ? 0 : row.wall_ns,
          parts: [row.exposed_ns, row.loading_ns - row.exposed_ns],
          note: `${stepTitle(row.step)}: ${time(row.wall_ns)}, loading ${time(row.loading_ns)}, exposed ${time(row.exposed_ns)}`,
        }))}
        classes={["fill-14", "pale-fill hue-14"]}
        format={time}
        {...(small ? { top: most * 1.05 } : {})}
      />
      <ul class="legend chart-legend">
        <li>
          <span class="swatch cat-14" /> exposed: no device was working
        </li>
        <li>
          <span class="swatch pale-fill hue-14" /> hidden behind device work
        </li>
        {!small && (
          <li>
            <span class="swatch stacked-rest" /> the rest of the step
          </li>
        )}
      </ul>
    </Card>
  );
}

function Operators({ answer }: { answer: LoadingAnswer }) {
  if (answer.operators.length === 0) return null;
  const all = Math.max(1, answer.totals.loading_ns);
  const longest = Math.max(1, ...answer.operators.map((row) => row.self_ns));
  return (
    <Card
      title="Operators while loading"
      text="Operators that ran on the main thread while loading, by self time. With worker processes, their work is not in the trace."
    >
      <Table
        label="Operators while loading"
        height={320}
        rows={rowsOf(answer.operators)}
        columns={[
          { field: "name", label: "Operator", align: "left", cell: (row) => <Name name={row.name} /> },
          defined(answer.definitions, "self_ns", { width: "90px" }),
          {
            field: "share",
            label: "Share of loading",
            width: "160px",
            cell: (row) => <Share share={row.self_ns / all} of={longest / all} category={14} />,
          },
        ]}
      />
    </Card>
  );
}
