// All occurrences of a function together: its numbers, who calls it and what it calls.

import { build, isSmaller, nameOf, type Tree } from "./tree.ts";

export interface FunctionRow {
  /** Into the tree's names. */
  id: number;
  name: string;
  category: number;
  self_ns: number;
  /** With everything it called; a call inside a call of the same name counts once. */
  total_ns: number;
  count: number;
}

/** Whether a node is inside no other of its name: counting only those counts recursion once. */
export function outermost(tree: Tree): Uint8Array {
  const out = new Uint8Array(tree.size);
  const open = new Map<number, number>();
  const stack: number[] = tree.size > 0 ? [0] : [];
  while (stack.length > 0) {
    const at = stack.pop()!;
    if (at < 0) {
      const name = tree.name[~at]!;
      open.set(name, open.get(name)! - 1);
      continue;
    }
    const name = tree.name[at]!;
    const depth = open.get(name) ?? 0;
    if (depth === 0) out[at] = 1;
    open.set(name, depth + 1);
    stack.push(~at);
    for (let k = tree.first[at]!; k < tree.first[at + 1]!; k++) stack.push(tree.kids[k]!);
  }
  return out;
}

/** Represents all nodes that were put together: they have no name of their own. */
export const SMALLER_ID = -1;

/** One row per name, the largest self time first. */
export function functions(tree: Tree): FunctionRow[] {
  const outer = outermost(tree);
  const rows = new Map<number, FunctionRow & { largest: number }>();
  const smaller = tree.names.map(isSmaller);
  for (let i = 1; i < tree.size; i++) {
    const id = smaller[tree.name[i]!] ? SMALLER_ID : tree.name[i]!;
    let row = rows.get(id);
    if (!row) {
      const name = id === SMALLER_ID ? "(smaller nodes)" : nameOf(tree, i);
      row = { id, name, category: 0, self_ns: 0, total_ns: 0, count: 0, largest: -1 };
      rows.set(id, row);
    }
    row.self_ns += tree.self[i]!;
    if (!tree.countsBelow || outer[i]) row.count += tree.count[i]!;
    if (outer[i]) row.total_ns += tree.total[i]!;
    if (tree.total[i]! > row.largest) {
      row.largest = tree.total[i]!;
      row.category = tree.category[i]!;
    }
  }
  return [...rows.values()]
    .map(({ largest: _, ...row }) => row)
    .sort((a, b) => b.self_ns - a.self_ns || b.total_ns - a.total_ns || a.id - b.id);
}

/** Grows a tree by merging nodes of one name under one parent. */
class Merger {
  readonly name: number[] = [];
  readonly parent: number[] = [];
  readonly self: number[] = [];
  readonly count: number[] = [];
  readonly category: number[] = [];
  readonly #known: Map<number, number>[] = [];
  readonly #tree: Tree;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** The node for another tree's node under `parent`. */
  at(parent: number, node: number): number {
    const name = this.#tree.name[node]!;
    const known = parent < 0 ? undefined : this.#known[parent]!.get(name);
    if (known !== undefined) return known;
    const made = this.name.length;
    this.name.push(name);
    this.parent.push(parent);
    this.self.push(0);
    this.count.push(0);
    this.category.push(this.#tree.category[node]!);
    this.#known.push(new Map());
    if (parent >= 0) this.#known[parent]!.set(name, made);
    return made;
  }

  tree(): Tree {
    return build({ ...this, names: this.#tree.names, kinds: this.#tree.kinds, unit: this.#tree.unit });
  }
}

function occurrences(tree: Tree, id: number): number[] {
  const outer = outermost(tree);
  const found: number[] = [];
  for (let i = 1; i < tree.size; i++) if (tree.name[i] === id && outer[i]) found.push(i);
  return found;
}

/** Who called a function and how much of its time is theirs: it is the root, its callers are the children. */
export function callers(tree: Tree, id: number): Tree | undefined {
  const merger = new Merger(tree);
  for (const occurrence of occurrences(tree, id)) {
    let made = merger.name.length === 0 ? merger.at(-1, occurrence) : 0;
    merger.count[made]! += tree.count[occurrence]!;
    for (let at = tree.parent[occurrence]!; at > 0; at = tree.parent[at]!) {
      made = merger.at(made, at);
      merger.count[made]! += tree.count[occurrence]!;
    }
    merger.self[made]! += tree.total[occurrence]!;
  }
  return merger.name.length > 0 ? merger.tree() : undefined;
}

/** What a function called, all its occurrences merged. */
export function callees(tree: Tree, id: number): Tree | undefined {
  const merger = new Merger(tree);
  const totals: number[] = [];
  for (const occurrence of occurrences(tree, id)) {
    const stack: [number, number][] = [[occurrence, -1]];
    while (stack.length > 0) {
      const [node, parent] = stack.pop()!;
      const made = parent < 0 && merger.name.length > 0 ? 0 : merger.at(parent, node);
      merger.self[made]! += tree.self[node]!;
      merger.count[made]! += tree.count[node]!;
      totals[made] = (totals[made] ?? 0) + tree.total[node]!;
      for (let k = tree.first[node]!; k < tree.first[node + 1]!; k++) stack.push([tree.kids[k]!, made]);
    }
  }
  if (merger.name.length === 0) return undefined;
  return build({ ...merger, names: tree.names, kinds: tree.kinds, unit: tree.unit, total: totals });
}
