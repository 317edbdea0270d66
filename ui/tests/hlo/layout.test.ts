// Where the instructions around one are drawn.

import { expect, test } from "vitest";
import type { NeighborRow } from "../../src/data/wire.ts";
import { GAP, layout, NODE } from "../../src/views/hlo/layout.ts";

function node(node: number, hop: number): NeighborRow {
  return {
    node,
    hop,
    name: `add.${node}`,
    opcode: "add",
    shape: "f32[8]",
    op_path: null,
    file: null,
    line: null,
    category: null,
    self_ns: null,
    calls: null,
    share: null,
    fused: null,
    inside: 0,
    more_operands: 0,
    more_users: 0,
  };
}

test("what is taken is on the left, who takes it on the right", () => {
  const nodes = [node(1, -2), node(2, -1), node(3, 0), node(4, 1)];
  const edges = [
    { from: 1, to: 2 },
    { from: 2, to: 3 },
    { from: 3, to: 4 },
  ];
  const { places, arrows, width, height } = layout(nodes, edges);
  expect(places.map((place) => place.x)).toEqual([0, 1, 2, 3].map((at) => at * (NODE.width + GAP.x)));
  expect(new Set(places.map((place) => place.y))).toEqual(new Set([0]));
  expect([width, height]).toEqual([4 * NODE.width + 3 * GAP.x, NODE.height]);
  expect(arrows.map((arrow) => arrow.near)).toEqual([false, true, true]);
});

test("neighbors are next to what they are tied to, and none lies on another", () => {
  // 3 takes 1 and 2; 1 takes 5, 2 takes 4: without sorting the arrows to the far column would cross.
  const nodes = [node(4, -2), node(5, -2), node(1, -1), node(2, -1), node(3, 0)];
  const edges = [
    { from: 1, to: 3 },
    { from: 2, to: 3 },
    { from: 5, to: 1 },
    { from: 4, to: 2 },
  ];
  const { places } = layout(nodes, edges);
  const y = (wanted: number) => places.find((place) => place.node.node === wanted)?.y ?? Number.NaN;
  expect(y(5)).toBeLessThan(y(4));
  expect(y(1)).toBeLessThan(y(2));
  expect(y(2) - y(1)).toBe(NODE.height + GAP.y);
  expect(y(3)).toBe((NODE.height + GAP.y) / 2);
});

test("arrows to what is not drawn are left out, and nothing can be drawn", () => {
  expect(layout([node(1, 0)], [{ from: 1, to: 99 }]).arrows).toEqual([]);
  expect(layout([], []).places).toEqual([]);
});

test("an arrow within a column goes around it", () => {
  const { arrows, places } = layout(
    [node(1, 1), node(2, 1), node(3, 0)],
    [
      { from: 3, to: 1 },
      { from: 1, to: 2 },
    ],
  );
  const right = Math.max(...places.map((place) => place.x)) + NODE.width;
  expect(arrows[1]?.path).toContain(`${right + GAP.x / 2},`);
});
