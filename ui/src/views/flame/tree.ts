// A flame graph's columns as a tree one can walk. Node 0 is all of it; a parent comes before its children.

import type { Flame } from "../../data/types.ts";
import { CATEGORIES } from "../../data/wire.ts";
import type { Unit } from "../../parts/format.ts";
import { MODULE_KINDS, MODULE_NAMES } from "./labels.ts";

export interface Tree {
  size: number;
  names: string[];
  /** Into `names`. */
  name: Int32Array;
  parent: Int32Array;
  depth: Int32Array;
  /** Nanoseconds of its own, and with everything below. */
  self: Float64Array;
  total: Float64Array;
  count: Float64Array;
  /** Whether a node's count holds those below it. */
  countsBelow: boolean;
  /** What its times are. */
  unit: Unit;
  category: Uint8Array;
  /** What the categories are called. */
  kinds: Kinds;
  /** Children of node `i`: `kids[first[i]]` up to `kids[first[i + 1]]`. */
  first: Int32Array;
  kids: Int32Array;
  /** Rows it takes to draw all. */
  rows: number;
}

/** Names by category; those left out do not occur. */
export type Kinds = readonly (string | undefined)[];

export type Order = "heavy" | "name";

/** The columns a tree is made from; `total` may be more than self and children where some were left out. */
export interface Columns {
  names: string[];
  name: ArrayLike<number>;
  /** -1 has no parent. */
  parent: ArrayLike<number>;
  self: ArrayLike<number>;
  total?: ArrayLike<number>;
  count: ArrayLike<number>;
  category: ArrayLike<number>;
  kinds?: Kinds;
  countsBelow?: boolean;
  unit?: Unit;
}

const OTHER_CATEGORY = 15;

/** Nodes of one parent too small to be sent one by one are merged under such a name. */
export function isSmaller(name: string): boolean {
  return /^\(\d+ smaller\)$/.test(name);
}

/** What tells modules, their backward passes and the rest apart. */
function moduleKind(name: string): number {
  if (name === "(backward)") return MODULE_KINDS.backward;
  return name.startsWith("(") ? MODULE_KINDS.outside : MODULE_KINDS.module;
}

/** The tree of an answer, below one node for everything. */
export function treeOf(flame: Flame): Tree {
  const n = flame.name.length;
  const shifted = (values: ArrayLike<number>, head: number, by = 0) => {
    const out = new Float64Array(n + 1);
    out[0] = head;
    for (let i = 0; i < n; i++) out[i + 1] = (values[i] ?? 0) + by;
    return out;
  };
  const kindOf = (name: number) => moduleKind(flame.names[name] ?? "");
  return build({
    names: [...flame.names, "all"],
    name: shifted(flame.name, flame.names.length),
    parent: shifted(flame.parent, -1, 1),
    self: shifted(flame.self_ns, 0),
    total: shifted(flame.total_ns_of, flame.total_ns),
    count: shifted(flame.count, 0),
    category: shifted(flame.weight === "module" ? flame.name.map(kindOf) : flame.category, OTHER_CATEGORY),
    kinds: flame.weight === "module" ? MODULE_NAMES : CATEGORIES,
    countsBelow: flame.weight === "device" || flame.unit !== "nanoseconds",
    unit: flame.unit,
  });
}

/** A tree of columns whose first node is the root. What points forwards or nowhere hangs on the root. */
export function build(columns: Columns): Tree {
  const size = columns.name.length;
  const tree: Tree = {
    size,
    names: columns.names,
    name: Int32Array.from(columns.name),
    parent: new Int32Array(size),
    depth: new Int32Array(size),
    self: Float64Array.from(columns.self, (value) => Math.max(0, value)),
    total: new Float64Array(size),
    count: Float64Array.from(columns.count),
    category: Uint8Array.from(columns.category),
    kinds: columns.kinds ?? CATEGORIES,
    countsBelow: columns.countsBelow ?? false,
    unit: columns.unit ?? "nanoseconds",
    first: new Int32Array(size + 1),
    kids: new Int32Array(Math.max(0, size - 1)),
    rows: 0,
  };
  const { parent, depth, total, self, first, kids } = tree;
  for (let i = 0; i < size; i++) {
    const asked = columns.parent[i] ?? -1;
    parent[i] = i === 0 ? -1 : asked >= 0 && asked < i ? asked : 0;
    if (i > 0) {
      depth[i] = depth[parent[i]!]! + 1;
      first[parent[i]! + 1]!++;
    }
    tree.rows = Math.max(tree.rows, depth[i]! + 1);
  }
  for (let i = 0; i < size; i++) first[i + 1]! += first[i]!;
  const next = first.slice();
  for (let i = 1; i < size; i++) kids[next[parent[i]!]!++] = i;
  // From the leaves up: never less than what is inside, or children would reach out.
  for (let i = size - 1; i >= 0; i--) {
    total[i] = Math.max(total[i]! + self[i]!, columns.total?.[i] ?? 0);
    if (i > 0) total[parent[i]!]! += total[i]!;
  }
  return tree;
}

/** The children of all nodes in the order to draw them, and where each node begins, in nanoseconds. */
export interface Placed {
  kids: Int32Array;
  start: Float64Array;
}

export function place(tree: Tree, order: Order): Placed {
  const { first, total, names, name } = tree;
  const kids = tree.kids.slice();
  const byName = (a: number, b: number) => {
    const left = names[name[a]!] ?? "";
    const right = names[name[b]!] ?? "";
    return left < right ? -1 : left > right ? 1 : 0;
  };
  const byTotal = (a: number, b: number) => total[b]! - total[a]!;
  const compare =
    order === "name"
      ? (a: number, b: number) => byName(a, b) || byTotal(a, b) || a - b
      : (a: number, b: number) => byTotal(a, b) || byName(a, b) || a - b;
  const start = new Float64Array(tree.size);
  for (let i = 0; i < tree.size; i++) {
    const [from, to] = [first[i]!, first[i + 1]!];
    if (to - from > 1) kids.subarray(from, to).sort(compare);
    let at = start[i]!;
    for (let k = from; k < to; k++) {
      start[kids[k]!] = at;
      at += total[kids[k]!]!;
    }
  }
  return { kids, start };
}

export function nameOf(tree: Tree, node: number): string {
  return tree.names[tree.name[node] ?? -1] ?? "";
}

/** From the root to a node. */
export function pathTo(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = tree.parent[at]!) path.push(at);
  return path.reverse();
}

/** A node as the URL holds it, with the size of its tree: in another tree the number means nothing. */
export function linkTo(tree: Tree, node: number): string | undefined {
  return node === 0 ? undefined : `${node}.${tree.size}`;
}

/** The node of a URL; the root where it is of another tree. */
export function linked(tree: Tree, text: string | undefined): number {
  const [node, size] = (text ?? "").split(".").map(Number);
  return size === tree.size && node !== undefined && Number.isInteger(node) && node > 0 && node < size
    ? node
    : 0;
}

/** The node at the end of names joined by `/`, wherever that path begins. */
export function findPath(tree: Tree, path: string): number | undefined {
  const walk = (node: number, rest: string): number | undefined => {
    for (let k = tree.first[node]!; k < tree.first[node + 1]!; k++) {
      const kid = tree.kids[k]!;
      const name = nameOf(tree, kid);
      if (rest === name) return kid;
      if (!rest.startsWith(`${name}/`)) continue;
      const found = walk(kid, rest.slice(name.length + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  for (let node = 0; node < tree.size; node++) {
    const found = walk(node, path);
    if (found !== undefined) return found;
  }
  return undefined;
}
