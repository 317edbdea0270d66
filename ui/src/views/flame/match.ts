// What a search finds in a tree, and how much of the time that is.

import type { Tree } from "./tree.ts";

export interface Match {
  /** Nodes whose name holds the text. */
  nodes: Uint8Array;
  /** Nodes that are such or have one below. */
  inside: Uint8Array;
  /** How many nodes. */
  count: number;
  /** Their time; one inside another counts once. */
  total: number;
}

/**
 * Looks for a text in the names, in any case. Nothing is sought with an empty text. The root is everything and has no
 * name of its own, unless `root` says so.
 */
export function match(tree: Tree, text: string, root = false): Match | undefined {
  const sought = text.trim().toLowerCase();
  if (sought === "") return undefined;
  const hit = tree.names.map((name) => name.toLowerCase().includes(sought));
  const nodes = new Uint8Array(tree.size);
  const inside = new Uint8Array(tree.size);
  const covered = new Uint8Array(tree.size);
  let count = 0;
  let total = 0;
  for (let i = root ? 0 : 1; i < tree.size; i++) {
    const above = i === 0 ? 0 : covered[tree.parent[i]!]!;
    covered[i] = above;
    if (!hit[tree.name[i]!]) continue;
    nodes[i] = 1;
    covered[i] = 1;
    count++;
    if (!above) total += tree.total[i]!;
  }
  for (let i = tree.size - 1; i > 0; i--) {
    if (nodes[i]) inside[i] = 1;
    if (inside[i]) inside[tree.parent[i]!] = 1;
  }
  return { nodes, inside, count, total };
}

/** The match after (or before) a node, by time: the largest first, round and round. */
export function nextMatch(
  tree: Tree,
  found: Match,
  from: number | undefined,
  back: boolean,
): number | undefined {
  const all: number[] = [];
  for (let i = 1; i < tree.size; i++) if (found.nodes[i]) all.push(i);
  all.sort((a, b) => tree.total[b]! - tree.total[a]! || a - b);
  if (all.length === 0) return undefined;
  const at = from === undefined ? -1 : all.indexOf(from);
  if (at < 0) return back ? all[all.length - 1] : all[0];
  return all[(at + (back ? all.length - 1 : 1)) % all.length];
}

/** What to say about a node. */
export function shares(tree: Tree, node: number): { ofAll: number; ofParent: number } {
  const parent = tree.parent[node] ?? -1;
  const all = tree.total[0] ?? 0;
  const around = parent < 0 ? all : tree.total[parent]!;
  const total = tree.total[node] ?? 0;
  return { ofAll: all > 0 ? total / all : 0, ofParent: around > 0 ? total / around : 0 };
}
