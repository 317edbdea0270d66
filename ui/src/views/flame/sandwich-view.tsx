// One function, all its occurrences together: who calls it above, what it calls below.

import { useMemo, useState } from "preact/hooks";
import { amount, percent, shortName } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { Facts } from "./facts.tsx";
import { Graph } from "./graph.tsx";
import type { Match } from "./match.ts";
import { match } from "./match.ts";
import { callees, callers, type FunctionRow } from "./sandwich.ts";
import { spoken } from "./selected.tsx";
import { type Order, place, type Tree } from "./tree.ts";

export function Sandwich(props: {
  tree: Tree;
  row: FunctionRow | undefined;
  order: Order;
  text: string;
  onFunction: (name: string) => void;
  onTimeline: ((name: string) => void) | undefined;
}) {
  const { tree, row } = props;
  const above = useMemo(() => (row ? callers(tree, row.id) : undefined), [tree, row]);
  const below = useMemo(() => (row ? callees(tree, row.id) : undefined), [tree, row]);
  if (!row || !above || !below)
    return (
      <Card title="Callers and callees">
        <Empty
          title="No function with this name."
          hint="Select one in the table to see its callers and callees."
        />
      </Card>
    );
  const all = tree.total[0] ?? 0;
  const share = (ns: number) => percent(all > 0 ? ns / all : 0);
  return (
    <Card
      title="Callers and callees"
      text="All calls of one function merged. Above: its callers, and how much of its time each accounts for. Below: what it calls. Recursive calls count once."
      class="flame-sandwich"
      note={
        <button type="button" disabled={!props.onTimeline} onClick={() => props.onTimeline?.(row.name)}>
          <Icon name="jump" size={14} /> Find on the timeline
        </button>
      }
    >
      <div class="flame-function">
        <div class="flame-selected-name" title={row.name}>
          <span class={`swatch cat-${row.category}`} aria-hidden="true" />{" "}
          <bdi>{shortName(row.name).slice(0, 1000)}</bdi>
        </div>
        <Facts
          total={amount(row.total_ns, tree.unit)}
          ofTotal={`${share(row.total_ns)} of total`}
          self={amount(row.self_ns, tree.unit)}
          ofSelf={`${share(row.self_ns)} of total`}
          count={row.count}
        />
      </div>
      <Half key={`above-${row.id}`} {...props} title="Callers" tree={above} upwards />
      <Half key={`below-${row.id}`} {...props} title="Callees" tree={below} upwards={false} />
    </Card>
  );
}

function Half(props: {
  title: string;
  tree: Tree;
  upwards: boolean;
  order: Order;
  text: string;
  onFunction: (name: string) => void;
}) {
  const { tree, upwards } = props;
  const [focus, setFocus] = useState<number>();
  const placed = useMemo(() => place(tree, props.order), [tree, props.order]);
  const found = useMemo<Match | undefined>(() => match(tree, props.text, true), [tree, props.text]);
  const alone = tree.size === 1;
  return (
    <>
      <h3 class="flame-half">
        {props.title}
        {alone && <span class="quiet"> none</span>}
      </h3>
      <div class="sr-only" aria-live="polite">
        {focus === undefined ? "" : spoken(tree, focus)}
      </div>
      {!alone && (
        <Graph
          label={`${props.title} of ${tree.names[tree.name[0]!]?.slice(0, 200)}`}
          class="half"
          tree={tree}
          placed={placed}
          upwards={upwards}
          zoom={0}
          focus={focus}
          found={found}
          onFocus={setFocus}
          onOpen={(node) => {
            if (node > 0) props.onFunction(tree.names[tree.name[node]!] ?? "");
          }}
        />
      )}
    </>
  );
}
