// Two flame graphs as one: nodes of both by the path of their names, with what a step spent there before and after. Pure.

import type { Flame } from "../../data/types.ts";
import { build, isSmaller, type Tree, treeOf } from "../flame/tree.ts";

/** Both runs' nodes; a parent comes before its children, the first is everything. */
export interface Merged {
  names: string[];
  name: number[];
  parent: number[];
  category: number[];
  /** Nanoseconds per step, with everything below and alone, before and after. */
  total: [number[], number[]];
  self: [number[], number[]];
  count: [number[], number[]];
  kinds: Tree["kinds"];
  unit: Tree["unit"];
  countsBelow: boolean;
}

export type Side = "before" | "after";

/** A tree as wide as one of the runs, with both runs' numbers by node. */
export interface SideTree {
  tree: Tree;
  before: Float64Array;
  after: Float64Array;
  selfBefore: Float64Array;
  selfAfter: Float64Array;
  /** How much each changed, from -1 to 1. */
  changes: Float32Array;
  /** Nodes that only the other run has, without those below another such node: how many, and their time per step. */
  missing: number;
  missing_ns: number;
}

const SMALLER = "(smaller)";

/**
 * By what two nodes are the same: names without what differs from run to run, which are the numbers of threads, the
 * lines of Python functions, and how many small nodes were put together.
 */
export function keyOf(name: string, isOutermost: boolean): string {
  if (isSmaller(name)) return SMALLER;
  if (isOutermost) return name.replace(/^thread \d+/, "thread");
  return name.replace(/(\.pyx?)\(\d+\)(?=: )/, "$1");
}

/** Merges two answers, each divided by how many steps it is about. */
export function merge(before: Flame, after: Flame, steps: readonly [number, number]): Merged {
  const kind = treeOf(after);
  const merged: Merged = {
    names: [],
    name: [],
    parent: [],
    category: [],
    total: [[], []],
    self: [[], []],
    count: [[], []],
    kinds: kind.kinds,
    unit: kind.unit,
    countsBelow: kind.countsBelow,
  };
  const places = new Map<string, number>();
  const names = new Map<string, number>();
  const nameId = (name: string) => {
    const known = names.get(name);
    if (known !== undefined) return known;
    names.set(name, merged.names.length);
    merged.names.push(name);
    return merged.names.length - 1;
  };
  const nodeFor = (parent: number, key: string, name: string, category: number): number => {
    const place = `${parent}\0${key}`;
    const known = places.get(place);
    if (known !== undefined) {
      // The later run's name is the one to look for.
      merged.name[known] = nameId(name);
      return known;
    }
    const node = merged.name.length;
    places.set(place, node);
    merged.name.push(nameId(name));
    merged.parent.push(parent);
    merged.category.push(category);
    for (const values of [merged.total, merged.self, merged.count]) for (const side of values) side.push(0);
    return node;
  };
  [before, after].forEach((flame, side) => {
    const tree = treeOf(flame);
    const per = Math.max(1, steps[side]!);
    const to = new Int32Array(tree.size);
    for (let i = 0; i < tree.size; i++) {
      const parent = tree.parent[i]!;
      const name = tree.names[tree.name[i]!] ?? "";
      const key = i === 0 ? "" : keyOf(name, parent === 0);
      const node = nodeFor(
        i === 0 ? -1 : to[parent]!,
        key,
        key === SMALLER ? SMALLER : name,
        tree.category[i]!,
      );
      to[i] = node;
      merged.total[side]![node]! += tree.total[i]! / per;
      merged.self[side]![node]! += tree.self[i]! / per;
      merged.count[side]![node]! += tree.count[i]! / per;
    }
  });
  return merged;
}

/** The tree with the nodes of one run, as wide as that run's time. */
export function treeBy(merged: Merged, side: Side): SideTree {
  const own = side === "before" ? 0 : 1;
  const total = merged.total[own]!;
  const to = new Int32Array(merged.name.length).fill(-1);
  const kept: number[] = [];
  let missing = 0;
  let missing_ns = 0;
  for (let i = 0; i < merged.name.length; i++) {
    const parent = merged.parent[i]!;
    if (i === 0 || (total[i]! > 0 && to[parent]! >= 0)) {
      to[i] = kept.length;
      kept.push(i);
    } else if (to[parent]! >= 0) {
      const other = merged.total[1 - own]![i]!;
      if (other > 0) missing++;
      missing_ns += other;
    }
  }
  const pick = (values: readonly number[]) => Float64Array.from(kept, (i) => values[i]!);
  const [before, after] = [pick(merged.total[0]), pick(merged.total[1])];
  return {
    tree: build({
      names: merged.names,
      name: kept.map((i) => merged.name[i]!),
      parent: kept.map((i) => (i === 0 ? -1 : to[merged.parent[i]!]!)),
      self: pick(merged.self[own]!),
      total: pick(total),
      count: pick(merged.count[own]!),
      category: kept.map((i) => merged.category[i]!),
      kinds: merged.kinds,
      unit: merged.unit,
      countsBelow: merged.countsBelow,
    }),
    before,
    after,
    selfBefore: pick(merged.self[0]),
    selfAfter: pick(merged.self[1]),
    changes: Float32Array.from(before, (value, i) => changeLevel(value, after[i]!)),
    missing,
    missing_ns,
  };
}

/** Changes up to this share of the larger are shown as none. */
const MIN_CHANGE_SHARE = 0.02;
/** From this share of the larger on the color is full: half of it, or twice as much. */
const FULL_COLOR_SHARE = 0.5;

/** How strong a color shows the way from one amount to another: 0 is the same, -1 half or less, 1 twice or more. */
export function changeLevel(before: number, after: number): number {
  const larger = Math.max(before, after);
  if (!(larger > 0)) return 0;
  const share = (after - before) / larger;
  const size = Math.min(
    1,
    Math.max(0, (Math.abs(share) - MIN_CHANGE_SHARE) / (FULL_COLOR_SHARE - MIN_CHANGE_SHARE)),
  );
  return share < 0 ? -size : size;
}
