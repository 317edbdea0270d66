// Where the instructions around one are drawn: what it takes on the left, who takes its result on the right.

import type { NeighborEdge, NeighborRow } from "../../data/wire.ts";

export const NODE = { width: 190, height: 74 };
export const GAP = { x: 44, y: 12 };

export interface Place {
  node: NeighborRow;
  x: number;
  y: number;
}

export interface Drawing {
  places: Place[];
  /** An arrow as an SVG path, and whether it touches the instruction in the middle. */
  arrows: { path: string; near: boolean; key: string }[];
  width: number;
  height: number;
}

/** Columns by distance; in each, near to those they are tied to one column further in. */
export function layout(nodes: readonly NeighborRow[], edges: readonly NeighborEdge[]): Drawing {
  const columns = new Map<number, NeighborRow[]>();
  for (const node of nodes) columns.set(node.hop, [...(columns.get(node.hop) ?? []), node]);
  const hops = [...columns.keys()].sort((a, b) => a - b);
  const tied = new Map<number, number[]>();
  for (const { from, to } of edges) {
    tied.set(from, [...(tied.get(from) ?? []), to]);
    tied.set(to, [...(tied.get(to) ?? []), from]);
  }
  const order = new Map<number, number>();
  // From the middle outwards: each column is sorted by where its neighbors already are.
  for (const hop of [...hops].sort((a, b) => Math.abs(a) - Math.abs(b))) {
    const column = columns.get(hop) ?? [];
    const center = (node: NeighborRow) => {
      const placed = (tied.get(node.node) ?? []).map((at) => order.get(at)).filter((at) => at !== undefined);
      return placed.length === 0 ? 0 : placed.reduce((sum, at) => sum + at, 0) / placed.length;
    };
    const centers = new Map(column.map((node) => [node.node, center(node)]));
    column.sort((a, b) => (centers.get(a.node) ?? 0) - (centers.get(b.node) ?? 0) || a.node - b.node);
    column.forEach((node, at) => {
      order.set(node.node, at - (column.length - 1) / 2);
    });
  }
  const tallest = Math.max(1, ...[...columns.values()].map((column) => column.length));
  const height = tallest * NODE.height + (tallest - 1) * GAP.y;
  const places: Place[] = hops.flatMap((hop, at) => {
    const column = columns.get(hop) ?? [];
    const own = column.length * NODE.height + (column.length - 1) * GAP.y;
    return column.map((node, row) => ({
      node,
      x: at * (NODE.width + GAP.x),
      y: (height - own) / 2 + row * (NODE.height + GAP.y),
    }));
  });
  const placeOf = new Map(places.map((place) => [place.node.node, place]));
  const arrows = edges.flatMap((edge) => {
    const [from, to] = [placeOf.get(edge.from), placeOf.get(edge.to)];
    if (!from || !to) return [];
    const near = from.node.hop === 0 || to.node.hop === 0;
    return [{ path: arrow(from, to), near, key: `${edge.from}-${edge.to}` }];
  });
  const width = Math.max(1, hops.length) * (NODE.width + GAP.x) - GAP.x;
  return { places, arrows, width, height };
}

/** From the right side of one to the left side of the other; in one column, around the right. */
function arrow(from: Place, to: Place): string {
  const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
  const y2 = to.y + NODE.height / 2;
  if (to.x > from.x) {
    const half = (to.x - x1) / 2;
    return `M${x1},${y1} C${x1 + half},${y1} ${to.x - half},${y2} ${to.x},${y2}`;
  }
  const out = GAP.x / 2;
  const x2 = to.x + NODE.width;
  return `M${x1},${y1} C${x1 + out},${y1} ${x2 + out},${y2} ${x2},${y2}`;
}
