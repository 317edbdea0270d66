// The flame graph: host time, device time or modules by stack; and all places of one function together.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame as Columns } from "../../data/types.ts";
import type { InfoAnswer, InfoOfProfile } from "../../data/wire.ts";
import { Await, Empty, Trouble } from "../../parts/states.tsx";
import { register } from "../../session/commands.ts";
import { go, param, pushParams, setParams } from "../../session/route.ts";
import { runId, source } from "../../session/state.ts";
import { useAsk, useLoaded } from "../../session/use-ask.ts";
import { Main } from "./main.tsx";
import { match, nextMatch } from "./match.ts";
import { functions } from "./sandwich.ts";
import "./style.css";
import { profileWords, titleOf, type Weight, WORDS, weightOf } from "./labels.ts";
import { Toolbar, WeightChoice } from "./toolbar.tsx";
import { findPath, linked, linkTo, nameOf, type Order, place, type Tree, treeOf } from "./tree.ts";

export function Flame() {
  const run = runId.value;
  const weight = weightOf(param("weight"));
  const step = param("step");
  const key = run === undefined ? undefined : JSON.stringify(["flame", run, weight, step]);
  const loaded = useLoaded(key, (signal) => source.flame(run ?? 0, weight, { step }, signal));
  const info = useAsk<InfoAnswer | InfoOfProfile>("info");
  if (loaded.problem)
    return (
      <div class="flame">
        <div class="toolbar">
          <WeightChoice weight={weight} />
        </div>
        <Trouble problem={loaded.problem} />
      </div>
    );
  return (
    <Await of={loaded}>
      {(columns) => (
        <Loaded
          columns={columns}
          weight={weight}
          stale={columns.weight !== weight}
          isProfile={info.data !== undefined && "profile" in info.data}
        />
      )}
    </Await>
  );
}

function Loaded(props: { columns: Columns; weight: Weight; stale: boolean; isProfile: boolean }) {
  const { columns, weight, stale, isProfile } = props;
  const tree = useMemo(() => treeOf(columns), [columns]);
  const rows = useMemo(() => functions(tree), [tree]);
  const order: Order = param("order") === "name" ? "name" : "heavy";
  const placed = useMemo(() => place(tree, order), [tree, order]);
  const text = param("q") ?? "";
  const found = useMemo(() => match(tree, text), [tree, text]);
  const zoom = linked(tree, param("zoom"));
  const [focus, setFocus] = useState<{ tree: Tree; node: number }>();
  const focused = focus?.tree === tree ? focus.node : undefined;
  const search = useRef<HTMLInputElement>(null);
  const before = useRef<number[]>([]);

  const onFocus = (node: number) => setFocus({ tree, node });
  const onZoom = (node: number) => {
    if (node !== zoom) before.current.push(zoom);
    onFocus(node);
    pushParams({ zoom: linkTo(tree, node) });
  };
  const onFunction = (name: string) => pushParams({ show: "sandwich", fn: name });
  const onNext = (back: boolean) => {
    const next = found && nextMatch(tree, found, focused, back);
    if (next === undefined) return;
    onFocus(next);
    // What lies outside the zoom would not be seen.
    if (zoom > 0 && !isUnder(tree, next, zoom)) pushParams({ zoom: undefined });
  };
  const back = () => {
    if (document.activeElement === search.current) {
      if (text) setParams({ q: undefined });
      else search.current?.blur();
    } else if (param("show") === "sandwich") pushParams({ show: undefined });
    else if (zoom > 0) {
      const last = before.current.pop() ?? 0;
      onFocus(zoom);
      pushParams({ zoom: linkTo(tree, last < tree.size ? last : 0) });
    } else if (text) setParams({ q: undefined });
  };
  const here = focused ?? zoom;
  const onTimeline = isProfile ? undefined : timelineOf(weight);
  useCommands({
    search: () => search.current?.focus(),
    back,
    flip: () => setParams({ orient: param("orient") === "flame" ? undefined : "flame" }),
    order: () => setParams({ order: order === "name" ? undefined : "name" }),
    sandwich: () => here > 0 && onFunction(nameOf(tree, here)),
    timeline: () => here > 0 && onTimeline?.(nameOf(tree, here)),
  });
  usePath(tree, stale);

  const words = isProfile ? profileWords(columns.unit) : WORDS[weight];
  // While another is awaited, the picture is still of the one before.
  const drawn = weightOf(columns.weight);
  return (
    <div class="flame">
      <Toolbar
        weight={isProfile ? undefined : weight}
        order={order}
        tree={tree}
        found={found}
        search={search}
        onNext={onNext}
      />
      {tree.size <= 1 || tree.total[0] === 0 ? (
        <Empty title={words.empty} hint={words.hint} code={words.code} />
      ) : (
        <Main
          {...{
            columns,
            tree,
            placed,
            order,
            rows,
            found,
            text,
            zoom,
            onZoom,
            onFocus,
            onFunction,
            onTimeline,
          }}
          focus={focused}
          weight={drawn}
          words={isProfile ? words : WORDS[drawn]}
          title={isProfile ? words.title : titleOf(drawn, columns.clock)}
        />
      )}
    </div>
  );
}

function isUnder(tree: Tree, node: number, above: number): boolean {
  for (let at = node; at >= 0; at = tree.parent[at]!) if (at === above) return true;
  return false;
}

/** How to show a name's slices on the timeline. */
function timelineOf(weight: Weight): (name: string) => void {
  return (name) => go("timeline", { name: weight === "module" ? moduleSlice(name) : name });
}

/** Modules are recorded as calls of this name. */
function moduleSlice(name: string): string {
  return name.startsWith("nn.Module: ") ? name : `nn.Module: ${name}`;
}

/** A link from the modules names its path: turned into the node once the tree is here. */
function usePath(tree: Tree, stale: boolean): void {
  const path = param("path");
  useEffect(() => {
    if (path === undefined || stale) return;
    const node = findPath(tree, path);
    setParams(
      node === undefined
        ? { path: undefined, q: path.split("/").pop() }
        : { path: undefined, zoom: linkTo(tree, node) },
    );
  }, [path, stale, tree]);
}

interface Actions {
  search(): void;
  back(): void;
  flip(): void;
  order(): void;
  sandwich(): void;
  timeline(): void;
}

function useCommands(actions: Actions): void {
  const now = useRef(actions);
  now.current = actions;
  useEffect(() => {
    const one = (id: keyof Actions, name: string, key: string) => ({
      id: `flame-${id}`,
      name,
      view: "flame",
      keys: [key],
      run: () => now.current[id](),
    });
    return register([
      one("search", "Search the flame graph", "Slash"),
      one("back", "Zoom out, clear the search", "Escape"),
      one("flip", "Root at the top or bottom", "KeyI"),
      one("order", "Order by time or by name", "KeyO"),
      one("sandwich", "Callers and callees of the selection", "KeyC"),
      one("timeline", "Find the selection on the timeline", "KeyT"),
    ]);
  }, []);
}
