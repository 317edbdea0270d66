// Which time, which picture, and the search.

import type { RefObject } from "preact";
import { Choice } from "../../parts/choice.tsx";
import { many, percent } from "../../parts/format.ts";
import { Defined } from "../../parts/metric.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { param, pushParams, setParams } from "../../session/route.ts";
import { WEIGHTS, type Weight, WORDS } from "./labels.ts";
import type { Match } from "./match.ts";
import type { Order, Tree } from "./tree.ts";

const SHOW = [
  { value: "graph", name: "Graph" },
  { value: "sandwich", name: "Callers and callees" },
] as const;
const ORIENT = [
  { value: "icicle", name: "Icicle", text: "Root at the top" },
  { value: "flame", name: "Flame", text: "Root at the bottom" },
] as const;
const ORDER = [
  { value: "heavy", name: "By time", text: "Largest on the left" },
  { value: "name", name: "By name", text: "Alphabetical, for comparing two runs" },
] as const;

export function WeightChoice({ weight }: { weight: Weight }) {
  return (
    <Choice
      label="Time to show"
      options={WEIGHTS.map((value) => ({ value, name: WORDS[value].name, text: WORDS[value].text }))}
      value={weight}
      onChange={(value) =>
        pushParams({ weight: value === "host" ? undefined : value, zoom: undefined, path: undefined })
      }
    />
  );
}

export function Toolbar(props: {
  /** None where there is nothing to choose. */
  weight: Weight | undefined;
  order: Order;
  tree: Tree;
  found: Match | undefined;
  search: RefObject<HTMLInputElement | null>;
  onNext: (back: boolean) => void;
}) {
  const { weight, order, tree, found } = props;
  const sandwich = param("show") === "sandwich";
  return (
    <div class="toolbar flame-bar">
      {weight && <WeightChoice weight={weight} />}
      <Choice
        label="View"
        options={SHOW}
        value={sandwich ? "sandwich" : "graph"}
        onChange={(value) => pushParams({ show: value === "graph" ? undefined : value })}
      />
      {!sandwich && (
        <Choice
          label="Direction"
          options={ORIENT}
          value={param("orient") === "flame" ? "flame" : "icicle"}
          onChange={(value) => setParams({ orient: value === "icicle" ? undefined : value })}
        />
      )}
      <Choice
        label="Order"
        options={ORDER}
        value={order}
        onChange={(value) => setParams({ order: value === "heavy" ? undefined : value })}
      />
      <span class="flame-search">
        <SearchBox
          field={props.search}
          label="Search names"
          shortcut="/"
          placeholder="Search names ( / )"
          value={param("q") ?? ""}
          onInput={(q) => setParams({ q: q || undefined })}
          onEnter={(event) => props.onNext(event.shiftKey)}
        />
        <span class="flame-found num" role="status">
          {found && (
            <Defined text="Time in matching nodes and everything below them, as a share of the total. Nested matches count once. Press Enter for the next match.">
              {found.count === 0
                ? "no matches"
                : `${percent(tree.total[0]! > 0 ? found.total / tree.total[0]! : 0)} in ${many(found.count, "node")}`}
            </Defined>
          )}
        </span>
      </span>
    </div>
  );
}
