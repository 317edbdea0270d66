import { describe, expect, test } from "vitest";
import { type Box, boxAt, layout, MIN_BOX_PX, step } from "../../src/views/flame/layout.ts";
import { match } from "../../src/views/flame/match.ts";
import { place, type Tree, treeOf } from "../../src/views/flame/tree.ts";
import { anyFlame, flameOf } from "./trees.ts";

function whole(tree: Tree, width: number, order: "heavy" | "name" = "heavy") {
  return layout(tree, place(tree, order), { from: 0, to: tree.total[0]! }, width);
}

test("a node is as wide as its share, its children side by side within it", () => {
  const tree = treeOf(flameOf("main 10\n  load 20\n  step 70"));
  const rows = whole(tree, 1000);
  const places = rows.map((row) => row.map((box) => [box.node, box.x, box.width]));
  expect(places).toEqual([
    [[0, 0, 1000]],
    [[1, 0, 1000]],
    [
      [3, 0, 700],
      [2, 700, 200],
    ],
  ]);
});

test("neighbors too narrow to draw become one band that keeps their time", () => {
  const tiny = Array.from({ length: 100 }, (_, i) => `  t${i} 1`).join("\n");
  const tree = treeOf(flameOf(`main 0\n  big 9900\n${tiny}`));
  const row = whole(tree, 1000)[2]!;
  expect(row).toHaveLength(2);
  expect(row[1]).toMatchObject({ merged: 100, total: 100, x: 990, width: 10 });
});

test("bands stand between nodes that are wide enough where the order asks for it", () => {
  const tree = treeOf(flameOf("main 0\n  a 1\n  b 5000\n  c 1\n  d 1\n  e 5000"));
  const row = whole(tree, 1000, "name")[2]!;
  expect(row.map((box) => box.merged)).toEqual([1, 0, 2, 0]);
  for (let i = 1; i < row.length; i++) expect(row[i]!.x).toBeCloseTo(row[i - 1]!.x + row[i - 1]!.width, 6);
});

describe.each([1, 7, 42, 1234])("of any tree (seed %i)", (seed) => {
  const tree = treeOf(anyFlame(3000, seed));

  test("the widths of children and own time add up to the parent's, and nothing is lost", () => {
    for (const order of ["heavy", "name"] as const) {
      const rows = whole(tree, 1200, order);
      const drawn = rows.map((row) => row.filter((box) => box.merged === 0));
      let bands = 0;
      const scale = 1200 / tree.total[0]!;
      drawn.flat().forEach((box) => {
        const below = (rows[tree.depth[box.node]! + 1] ?? []).filter((b) => tree.parent[b.node] === box.node);
        const sum = below.reduce((all, b) => all + b.width, 0);
        const own = tree.total[box.node]! - below.reduce((all, b) => all + b.total, 0);
        expect(sum + own * scale).toBeCloseTo(box.width, 4);
        // What is not a child's is the node's own time, to the nanosecond.
        expect(own).toBe(tree.self[box.node]);
      });
      rows.flat().forEach((box) => {
        bands += box.merged;
        if (box.merged === 0) expect(box.width).toBeGreaterThanOrEqual(MIN_BOX_PX);
      });
      expect(bands).toBeGreaterThan(0);
    }
  });

  test("boxes of a row come from left to right and do not overlap", () => {
    for (const row of whole(tree, 800))
      for (let i = 1; i < row.length; i++)
        expect(row[i]!.x).toBeGreaterThanOrEqual(row[i - 1]!.x + row[i - 1]!.width - 1e-6);
  });

  test("zooming fills the width with the node and drops what lies beside it", () => {
    const placed = place(tree, "heavy");
    const node = tree.kids[tree.first[0]!]!;
    const span = { from: placed.start[node]!, to: placed.start[node]! + tree.total[node]! };
    const rows = layout(tree, placed, span, 500);
    const row = rows[tree.depth[node]!]!;
    expect(row.map((box) => box.node)).toEqual([node]);
    expect(row[0]!.x).toBeCloseTo(0, 6);
    expect(row[0]!.width).toBeCloseTo(500, 6);
    for (const box of rows.flat()) expect(box.x < 500 && box.x + box.width > 0).toBe(true);
  });
});

test("a band says when it hides what was searched for", () => {
  const tree = treeOf(flameOf("main 0\n  big 100000\n  tiny 1\n    needle 1\n  small 1"));
  const found = match(tree, "needle")!;
  const span = { from: 0, to: tree.total[0]! };
  const rows = layout(tree, place(tree, "heavy"), span, 1000, found.nodes, found.inside);
  expect(rows[2]!.map((box) => [box.merged, box.matched])).toEqual([
    [0, false],
    [2, true],
  ]);
});

test("no width or no time draws nothing", () => {
  const tree = treeOf(flameOf("main 0"));
  expect(whole(tree, 1000)).toEqual([]);
  expect(whole(treeOf(flameOf("main 5")), 0)).toEqual([]);
});

test("the box under the pointer is found; the thinnest can be hit on a whole pixel", () => {
  const row: Box[] = [
    { node: 1, x: 0, width: 100, merged: 0, total: 1, matched: false },
    { node: 2, x: 100, width: 0.2, merged: 3, total: 1, matched: false },
    { node: 3, x: 200, width: 50, merged: 0, total: 1, matched: false },
  ];
  expect(boxAt(row, 99.9)?.node).toBe(1);
  expect(boxAt(row, 100.5)?.node).toBe(2);
  expect(boxAt(row, 150)).toBeUndefined();
  expect(boxAt(row, 249)?.node).toBe(3);
  expect(boxAt(undefined, 1)).toBeUndefined();
});

test("arrow keys lead to parent, largest child and neighbors as drawn", () => {
  const tree = treeOf(flameOf("main 0\n  a 10\n  b 30\n  c 20"));
  const placed = place(tree, "heavy");
  expect(step(tree, placed, 1, "child")).toBe(3);
  expect(step(tree, placed, 3, "after")).toBe(4);
  expect(step(tree, placed, 4, "after")).toBe(2);
  expect(step(tree, placed, 2, "after")).toBe(2);
  expect(step(tree, placed, 4, "before")).toBe(3);
  expect(step(tree, placed, 4, "parent")).toBe(1);
  expect(step(tree, placed, 0, "parent")).toBe(0);
  expect(step(tree, placed, 2, "child")).toBe(2);
});
