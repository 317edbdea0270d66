// Where the nodes of a tree are in a picture so wide. Pure: the painter only paints.

import type { Placed, Tree } from "./tree.ts";

/** A node, or neighbors too narrow to be drawn one by one. */
export interface Box {
  /** The node; of a band the largest. */
  node: number;
  /** Pixels; may reach beyond the picture. */
  x: number;
  width: number;
  /** How many nodes a band represents, not counting what is below them; 0 for a single node. */
  merged: number;
  /** Nanoseconds. */
  total: number;
  /** Holds a node that was searched for. */
  matched: boolean;
}

/** What part of the root's time is in sight, in nanoseconds. */
export interface Span {
  from: number;
  to: number;
}

export const MIN_BOX_PX = 0.5;

/** The boxes in sight by depth, from left to right. */
export function layout(
  tree: Tree,
  placed: Placed,
  span: Span,
  width: number,
  matched?: Uint8Array,
  inside?: Uint8Array,
): Box[][] {
  const rows: Box[][] = [];
  const length = span.to - span.from;
  if (!(length > 0) || !(width > 0) || tree.size === 0) return rows;
  const scale = width / length;
  const { first, total } = tree;
  const { kids, start } = placed;
  const add = (depth: number, box: Box) => {
    while (rows.length <= depth) rows.push([]);
    rows[depth]!.push(box);
  };
  const single = (node: number) => {
    add(tree.depth[node]!, {
      node,
      x: (start[node]! - span.from) * scale,
      width: total[node]! * scale,
      merged: 0,
      total: total[node]!,
      matched: matched?.[node] === 1,
    });
  };
  // Row by row, each from left to right, so that boxes come in the order of the picture.
  single(0);
  let level = [0];
  while (level.length > 0) {
    const next: number[] = [];
    for (const node of level) {
      const depth = tree.depth[node]! + 1;
      let band: Box | undefined;
      for (let k = first[node]!; k < first[node + 1]!; k++) {
        const kid = kids[k]!;
        if (start[kid]! + total[kid]! <= span.from || start[kid]! >= span.to) continue;
        if (total[kid]! * scale >= MIN_BOX_PX) {
          band = undefined;
          single(kid);
          next.push(kid);
          continue;
        }
        if (!band) {
          band = {
            node: kid,
            x: (start[kid]! - span.from) * scale,
            width: 0,
            merged: 0,
            total: 0,
            matched: false,
          };
          add(depth, band);
        }
        band.merged++;
        band.total += total[kid]!;
        band.width = band.total * scale;
        band.matched ||= inside?.[kid] === 1;
        if (total[kid]! > total[band.node]!) band.node = kid;
      }
    }
    level = next;
  }
  return rows;
}

/** The box at a place of a row. */
export function boxAt(row: Box[] | undefined, x: number): Box | undefined {
  if (!row) return undefined;
  let low = 0;
  let high = row.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const box = row[middle]!;
    if (x < box.x) high = middle - 1;
    else if (x >= box.x + Math.max(box.width, 1)) low = middle + 1;
    else return box;
  }
  return undefined;
}

export type Direction = "parent" | "child" | "before" | "after";

/** Where an arrow key leads from a node; the node itself where there is nothing. */
export function step(tree: Tree, placed: Placed, node: number, direction: Direction): number {
  const { first, parent, total } = tree;
  const around = parent[node] ?? -1;
  if (direction === "parent") return around < 0 ? node : around;
  if (direction === "child") {
    let best = -1;
    for (let k = first[node]!; k < first[node + 1]!; k++) {
      const kid = placed.kids[k]!;
      if (best < 0 || total[kid]! > total[best]!) best = kid;
    }
    return best < 0 ? node : best;
  }
  if (around < 0) return node;
  const [from, to] = [first[around]!, first[around + 1]!];
  const at = placed.kids.subarray(from, to).indexOf(node) + (direction === "before" ? -1 : 1);
  return at >= 0 && at < to - from ? placed.kids[from + at]! : node;
}
