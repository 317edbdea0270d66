// The stacks of both runs as one flame graph, colored by what changed per step.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame } from "../../data/types.ts";
import { Choice } from "../../parts/choice.tsx";
import { amount, many, percent, signedTime } from "../../parts/format.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { register } from "../../session/commands.ts";
import { param, pushParams, setParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { Graph } from "../flame/graph.tsx";
import { WEIGHTS, type Weight, WORDS, weightOf } from "../flame/labels.ts";
import type { Box } from "../flame/layout.ts";
import { match } from "../flame/match.ts";
import { Crumbs } from "../flame/selected.tsx";
import { linked, linkTo, nameOf, place, type Tree } from "../flame/tree.ts";
import { merge, type Side, type SideTree, treeBy } from "./flame-merge.ts";
import { signedShare, toneOf } from "./waterfall-chart.tsx";

const WIDTHS = [
  { value: "after", name: "After", text: "Boxes are as wide as their time per step in the later run." },
  { value: "before", name: "Before", text: "Boxes are as wide as their time per step in the earlier run." },
] as const;

interface Loaded {
  weight: Weight;
  flames: [Flame, Flame];
  steps: [number, number];
}

export function FlameDiff({ a, b }: { a: number; b: number }) {
  const weight = weightOf(param("weight"));
  const loaded = useLoaded<Loaded>(JSON.stringify(["flames", a, b, weight]), async (signal) => {
    const [before, after, one, other] = await Promise.all([
      source.flame(a, weight, {}, signal),
      source.flame(b, weight, {}, signal),
      source.layout(a),
      source.layout(b),
    ]);
    return {
      weight,
      flames: [before, after],
      steps: [Math.max(1, one.steps.length), Math.max(1, other.steps.length)],
    };
  });
  return <Await of={loaded}>{(of) => <Drawn of={of} weight={weight} />}</Await>;
}

function Drawn({ of, weight }: { of: Loaded; weight: Weight }) {
  const side: Side = param("width") === "before" ? "before" : "after";
  const merged = useMemo(() => merge(of.flames[0], of.flames[1], of.steps), [of]);
  const both = useMemo(() => treeBy(merged, side), [merged, side]);
  const { tree } = both;
  const placed = useMemo(() => place(tree, "heavy"), [tree]);
  const text = param("q") ?? "";
  const found = useMemo(() => match(tree, text), [tree, text]);
  const zoom = linked(tree, param("zoom"));
  const [focus, setFocus] = useState<{ tree: Tree; node: number }>();
  const focused = focus?.tree === tree ? focus.node : undefined;
  const search = useRef<HTMLInputElement>(null);
  const onZoom = (node: number) => {
    setFocus({ tree, node });
    pushParams({ zoom: linkTo(tree, node) });
  };
  useCommands({
    search: () => search.current?.focus(),
    back() {
      if (document.activeElement === search.current) search.current?.blur();
      else if (zoom > 0) onZoom(tree.parent[zoom] ?? 0);
      else if (text) setParams({ q: undefined });
    },
  });
  const here = focused ?? zoom;
  const words = WORDS[of.weight];
  return (
    <div class="flame">
      <div class="toolbar flame-bar">
        <Choice
          label="Time to show"
          options={WEIGHTS.map((value) => ({ value, name: WORDS[value].name, text: WORDS[value].text }))}
          value={weight}
          onChange={(value) => pushParams({ weight: value === "host" ? undefined : value, zoom: undefined })}
        />
        <span class="compare-width">
          <span class="quiet">Width</span>
          <Choice
            label="Width of boxes"
            options={WIDTHS}
            value={side}
            onChange={(value) => setParams({ width: value === "after" ? undefined : value, zoom: undefined })}
          />
        </span>
        <span class="flame-search">
          <SearchBox
            field={search}
            label="Search names"
            shortcut="/"
            placeholder="Search names ( / )"
            value={text}
            onInput={(q) => setParams({ q: q || undefined })}
          />
          <span class="flame-found num" role="status">
            {found && (found.count === 0 ? "no matches" : many(found.count, "match", "matches"))}
          </span>
        </span>
      </div>
      {tree.size <= 1 && both.missing === 0 ? (
        <Empty title={words.empty} hint={words.hint} code={words.code} />
      ) : tree.size <= 1 ? (
        <Card title={`${words.title}, per step`}>
          <p>{`Nothing to draw by the widths of the ${side === "after" ? "later" : "earlier"} run.`}</p>
          <Missing both={both} side={side} />
        </Card>
      ) : (
        <Card
          title={`${words.title}, per step`}
          text={`${words.text} Both recordings as a whole, each divided by its steps. Threads of one name are one; lines of functions do not matter.`}
          note={`${many(of.steps[0], "step")} before, ${many(of.steps[1], "step")} after`}
        >
          <Crumbs tree={tree} zoom={zoom} onZoom={onZoom} />
          <Graph
            label={`${words.title}, before and after`}
            tree={tree}
            placed={placed}
            upwards={false}
            zoom={zoom}
            focus={focused}
            found={found}
            onFocus={(node) => setFocus({ tree, node })}
            onOpen={onZoom}
            changes={both.changes}
            tip={(box) => <Tip both={both} box={box} />}
            also="What is selected is written below."
          />
          <div class="sr-only" aria-live="polite">
            {focused === undefined ? "" : spoken(both, focused)}
          </div>
          <Chosen both={both} node={here} />
          <Scale />
          {of.weight === "host" && (
            <p class="quiet flame-notes">Threads add up, so the total is not the length of a step.</p>
          )}
          <Missing both={both} side={side} />
        </Card>
      )}
    </div>
  );
}

/** What only the other run has, and the way there. */
function Missing({ both, side }: { both: SideTree; side: Side }) {
  if (both.missing === 0) return null;
  const one = both.missing === 1;
  return (
    <p class="quiet flame-notes">
      {`${many(both.missing, "frame")} of the ${side === "after" ? "earlier" : "later"} run alone, ${amount(both.missing_ns, both.tree.unit)} per step, ${one ? "has" : "have"} no width here. `}
      <button
        type="button"
        class="link"
        onClick={() => setParams({ width: side === "after" ? "before" : undefined, zoom: undefined })}
      >
        {side === "after" ? "Show widths before" : "Show widths after"}
      </button>
    </p>
  );
}

/** What the colors mean. */
function Scale() {
  return (
    <p class="compare-scale quiet">
      half or less
      <span class="compare-ramp" aria-hidden="true" />
      twice or more
      <span>per step</span>
    </p>
  );
}

/** Before, after and the change of a node. */
function Numbers({ both, node }: { both: SideTree; node: number }) {
  const { unit } = both.tree;
  const line = (name: string, before: number, after: number) => (
    <>
      <dt>{name}</dt>
      <dd>
        {`${amount(before, unit)} → ${amount(after, unit)} `}
        <span class={toneOf(Math.round(after - before))}>{changeText(before, after)}</span>
      </dd>
    </>
  );
  return (
    <>
      {line("Per step", both.before[node]!, both.after[node]!)}
      {line("Self", both.selfBefore[node]!, both.selfAfter[node]!)}
    </>
  );
}

/** `+1.234 ms (+12.3%)`, `new`, `gone`. */
export function changeText(before: number, after: number): string {
  if (before === 0 && after === 0) return "";
  if (before === 0) return "new";
  if (after === 0) return "gone";
  const by = signedTime(after - before);
  return by === "0" ? "0" : `${by} (${signedShare((after - before) / before)})`;
}

function Tip({ both, box }: { both: SideTree; box: Box }) {
  if (box.merged > 0)
    return (
      <div class="flame-tip">
        <div class="flame-tip-name">{many(box.merged, "call")} too short to draw</div>
        <div class="quiet">{amount(box.total, both.tree.unit)} per step combined. Click to zoom in.</div>
      </div>
    );
  return (
    <div class="flame-tip">
      <div class="flame-tip-name">
        <bdi>{nameOf(both.tree, box.node).slice(0, 600)}</bdi>
      </div>
      <dl>
        <Numbers both={both} node={box.node} />
      </dl>
    </div>
  );
}

function Chosen({ both, node }: { both: SideTree; node: number }) {
  const { tree } = both;
  const all = tree.total[0] ?? 0;
  const name = node === 0 ? "All" : nameOf(tree, node);
  return (
    <div class="flame-selected">
      <div class="flame-selected-name" title={name}>
        <bdi>{name.slice(0, 1000)}</bdi>{" "}
        <span class="quiet">{node > 0 && all > 0 && `${percent(tree.total[node]! / all)} of total`}</span>
      </div>
      <dl class="flame-facts num">
        <Numbers both={both} node={node} />
      </dl>
    </div>
  );
}

/** One sentence for those who hear the picture. */
function spoken(both: SideTree, node: number): string {
  const { tree } = both;
  const [before, after] = [both.before[node]!, both.after[node]!];
  const name = node === 0 ? "all" : nameOf(tree, node).slice(0, 200);
  return `${name}, ${amount(before, tree.unit)} per step before, ${amount(after, tree.unit)} after, ${changeText(before, after)}`;
}

function useCommands(actions: { search(): void; back(): void }): void {
  const now = useRef(actions);
  now.current = actions;
  useEffect(
    () =>
      register([
        {
          id: "compare-search",
          name: "Search the flame graph",
          view: "compare",
          keys: ["Slash"],
          run: () => now.current.search(),
        },
        {
          id: "compare-back",
          name: "Zoom out, clear the search",
          view: "compare",
          keys: ["Escape"],
          run: () => now.current.back(),
        },
      ]),
    [],
  );
}
