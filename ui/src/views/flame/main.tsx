// What is below the toolbar: the graph and its table, or one function between its callers and callees.

import type { Flame as Columns } from "../../data/types.ts";
import { amount, count, many } from "../../parts/format.ts";
import { Defined } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";
import { Functions, sortOf } from "./functions.tsx";
import { Graph } from "./graph.tsx";
import { DEFINED, type Weight, type WeightWords } from "./labels.ts";
import type { Match } from "./match.ts";
import { type FunctionRow, SMALLER_ID } from "./sandwich.ts";
import { Sandwich } from "./sandwich-view.tsx";
import { Crumbs, Selected, spoken } from "./selected.tsx";
import { nameOf, type Order, type Placed, type Tree } from "./tree.ts";

interface Props {
  columns: Columns;
  weight: Weight;
  words: WeightWords;
  title: string;
  tree: Tree;
  placed: Placed;
  order: Order;
  rows: FunctionRow[];
  found: Match | undefined;
  text: string;
  zoom: number;
  focus: number | undefined;
  onZoom: (node: number) => void;
  onFocus: (node: number) => void;
  onFunction: (name: string) => void;
  onTimeline: ((name: string) => void) | undefined;
}

export function Main(props: Props) {
  const { tree, rows, text, weight, words, title, onTimeline } = props;
  const sandwich = param("show") === "sandwich";
  const fn = param("fn");
  // Where nothing was chosen yet, the function with the most time of its own.
  const chosen =
    fn === undefined ? rows.find((row) => row.id !== SMALLER_ID) : rows.find((row) => row.name === fn);
  const table = (
    <Card title={words.many} note={many(rows.length, "name")} class="flame-functions">
      <Functions
        noun={words}
        rows={rows}
        all={tree.total[0] ?? 0}
        unit={tree.unit}
        text={text}
        sort={sortOf(param("sort"))}
        onSort={(sort) => setParams({ sort: sort === "self_ns" ? undefined : sort })}
        onOpen={(row) => row.id !== SMALLER_ID && props.onFunction(row.name)}
        chosen={sandwich ? chosen?.id : undefined}
        narrow={sandwich}
        height={sandwich ? 620 : 420}
      />
    </Card>
  );
  if (sandwich)
    return (
      <div class="flame-split">
        {table}
        <Sandwich
          tree={tree}
          row={chosen}
          order={props.order}
          text={text}
          onFunction={props.onFunction}
          onTimeline={chosen && hasSlices(chosen.name) ? onTimeline : undefined}
        />
      </div>
    );
  const here = props.focus ?? props.zoom;
  return (
    <>
      <Card
        title={title}
        text={words.text}
        note={
          <>
            {amount(tree.total[0] ?? 0, tree.unit)} in {count(tree.size - 1)} nodes
          </>
        }
        class="flame-card"
      >
        <Crumbs tree={tree} zoom={props.zoom} onZoom={props.onZoom} />
        <Graph
          label={title}
          tree={tree}
          placed={props.placed}
          upwards={param("orient") === "flame"}
          zoom={props.zoom}
          focus={props.focus}
          found={props.found}
          onFocus={props.onFocus}
          onOpen={props.onZoom}
        />
        <div class="sr-only" aria-live="polite">
          {props.focus === undefined ? "" : spoken(tree, props.focus)}
        </div>
        <Selected
          tree={tree}
          node={here}
          zoom={props.zoom}
          onZoom={props.onZoom}
          onFunction={(node) => props.onFunction(nameOf(tree, node))}
          onTimeline={
            // The outermost frames of stacks are threads.
            onTimeline && hasSlices(nameOf(tree, here)) && (weight === "module" || tree.depth[here]! > 1)
              ? (node) => onTimeline(nameOf(tree, node))
              : undefined
          }
        />
        <Legend tree={tree} />
        <Notes columns={props.columns} />
      </Card>
      {table}
    </>
  );
}

/** Whether slices bear this name, so that the timeline can find them; what represents several does not. */
function hasSlices(name: string): boolean {
  return !name.startsWith("(") && name !== "ProfilerStep*";
}

/** The kinds of nodes that occur. */
function Legend({ tree }: { tree: Tree }) {
  const present = new Set(tree.category.subarray(1));
  return (
    <ul class="legend flame-legend">
      {[...tree.kinds].map((name, at) =>
        name !== undefined && present.has(at) ? (
          <li key={at}>
            <span class={`swatch cat-${at}`} /> {name}
          </li>
        ) : null,
      )}
    </ul>
  );
}

/** What has no box of its own. */
function Notes({ columns }: { columns: Columns }) {
  const { pruned_nodes, pruned_ns, deeper_slices } = columns;
  if (pruned_nodes === 0 && deeper_slices === 0) return null;
  return (
    <p class="quiet flame-notes">
      {pruned_nodes > 0 && (
        <Defined text={DEFINED.pruned}>
          {count(pruned_nodes)} tiny nodes merged ({amount(pruned_ns, columns.unit)}).
        </Defined>
      )}{" "}
      {deeper_slices > 0 &&
        `${count(deeper_slices)} calls are too deep to show; their time counts toward the last frame shown.`}
    </p>
  );
}
