// The critical path: the chain of work and waiting that decided how long the run took.

import type { Account } from "../../data/account.ts";
import { rowsOf } from "../../data/rows.ts";
import type { CriticalPathAnswer, PathRow } from "../../data/wire.ts";
import { Stacked } from "../../parts/charts/stacked.tsx";
import { count, shortName, time } from "../../parts/format.ts";
import { partOf, pathClass } from "../../parts/key-names.ts";
import { Name } from "../../parts/links.tsx";
import { definition, Share } from "../../parts/metric.tsx";
import { scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { go, href, param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";

export function Path(_: { account: Account | undefined }) {
  const path = useAsk<CriticalPathAnswer>("critical-path", { ...scoped(false), top: 0 });
  return (
    <Await of={path}>
      {(answer) =>
        (answer.path ?? []).length === 0 ? (
          <Empty title="No critical path." hint="Nothing was recorded in these steps." />
        ) : (
          <Shown answer={answer} />
        )
      }
    </Await>
  );
}

function Shown({ answer }: { answer: CriticalPathAnswer }) {
  const definitions = answer.definitions;
  const text = definition(definitions, "class");
  const only = param("class");
  const path = answer.path ?? [];
  const rows = only ? path.filter((row) => row.class === only) : path;
  const most = Math.max(0, ...rows.map((row) => row.share));
  const columns: Column<PathRow>[] = [
    {
      field: "name",
      label: "Name",
      align: "left",
      cell: (row) => (
        <>
          <span class={`swatch cat-${pathClass(row.class).category}`} aria-hidden="true" />{" "}
          <Name name={row.name} short={shortName(row.name)} />
        </>
      ),
    },
    defined(definitions, "class", { width: "140px", cell: (row) => pathClass(row.class).label }),
    defined(definitions, "pieces", { width: "90px" }),
    defined(definitions, "on_path_ns", { width: "110px" }),
    defined(definitions, "share", {
      width: "150px",
      cell: (row) => <Share share={row.share} of={most} category={pathClass(row.class).category} />,
    }),
  ];
  const show = (
    <button type="button" onClick={() => go("timeline", { path: 1 })}>
      Show on the timeline
    </button>
  );
  return (
    <div class="card-column">
      <Card
        title="Critical path"
        text="The chain of work and waiting that determined how long the run took. Shortening anything off the path saves nothing."
        note={show}
      >
        <p class="quiet lead">
          {time(answer.wall_ns)} from the start of the first step to the end of the last. Speeding up something
          on the path saves at most its share; <a href={href("diagnosis", { tab: "what-if" })}>What if</a>{" "}
          predicts how much.
        </p>
        <Stacked
          label="Critical path by class"
          pieces={answer.classes.map((row) => ({
            key: row.class,
            ...pathClass(row.class),
            value: row.on_path_ns,
            text: partOf(text, row.class),
          }))}
          onPick={(key) => setParams({ class: only === key ? undefined : key })}
          picked={only}
        />
      </Card>
      <Card
        title="What is on the path"
        note={
          only ? `${pathClass(only).label} only: ${count(rows.length)} of ${count(path.length)}` : undefined
        }
      >
        <Table
          label="Names on the critical path"
          columns={columns}
          rows={rowsOf(rows)}
          height={520}
          empty={<Empty title="Nothing in this class is on the path." />}
        />
      </Card>
    </div>
  );
}
