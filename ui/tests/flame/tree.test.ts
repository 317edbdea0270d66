import { expect, test } from "vitest";
import { build, findPath, linked, linkTo, nameOf, pathTo, place, treeOf } from "../../src/views/flame/tree.ts";
import { flameOf } from "./trees.ts";

const TEXT = `
main 10
  load 5
  step 0
    forward 30
    backward 40
other 20
`;

test("a tree of columns keeps parents, totals and depths", () => {
  const tree = treeOf(flameOf(TEXT));
  expect(tree.size).toBe(7);
  expect(Array.from({ length: 7 }, (_, i) => nameOf(tree, i))).toEqual([
    "all",
    "main",
    "load",
    "step",
    "forward",
    "backward",
    "other",
  ]);
  expect([...tree.parent]).toEqual([-1, 0, 1, 1, 3, 3, 0]);
  expect([...tree.depth]).toEqual([0, 1, 2, 2, 3, 3, 1]);
  expect([...tree.total]).toEqual([105, 85, 5, 70, 30, 40, 20]);
  expect(tree.rows).toBe(4);
  const kids = (node: number) => [...tree.kids.subarray(tree.first[node], tree.first[node + 1])];
  expect(kids(0)).toEqual([1, 6]);
  expect(kids(1)).toEqual([2, 3]);
  expect(kids(4)).toEqual([]);
});

test("time that the answer gives a parent beyond its children is kept", () => {
  const flame = flameOf("main 10\n  child 5");
  flame.total_ns_of[0] = 50;
  flame.total_ns = 50;
  expect([...treeOf(flame).total]).toEqual([50, 50, 5]);
});

test("children never stand out of their parent, whatever the columns say", () => {
  const flame = flameOf("main 10\n  child 500");
  flame.total_ns_of[0] = 20;
  flame.total_ns = 20;
  expect([...treeOf(flame).total]).toEqual([510, 510, 500]);
});

test("a parent that points forwards or nowhere is the root", () => {
  const tree = build({
    names: ["all", "a"],
    name: [0, 1, 1, 1],
    parent: [-1, 3, 99, 2],
    self: [0, 1, -5, 1],
    count: [0, 1, 1, 1],
    category: [0, 0, 0, 0],
  });
  expect([...tree.parent]).toEqual([-1, 0, 0, 2]);
  expect([...tree.total]).toEqual([2, 1, 1, 1]);
});

test("nothing recorded is a root of no width", () => {
  const tree = treeOf(flameOf(""));
  expect(tree.size).toBe(1);
  expect(tree.total[0]).toBe(0);
});

test("children stand by time or by name, one after the other", () => {
  const tree = treeOf(flameOf(TEXT));
  const heavy = place(tree, "heavy");
  expect([...heavy.kids]).toEqual([1, 6, 3, 2, 5, 4]);
  expect([...heavy.start]).toEqual([0, 0, 70, 0, 40, 0, 85]);
  const named = place(tree, "name");
  expect([...named.kids]).toEqual([1, 6, 2, 3, 5, 4]);
  expect([...named.start]).toEqual([0, 0, 0, 5, 45, 5, 85]);
});

test("a path is found by its names, also where names hold slashes", () => {
  const tree = treeOf(flameOf("GPT_0 1\n  a/b 1\n    Linear_1 1\n  Linear_1 1", "module"));
  expect(findPath(tree, "GPT_0/a/b/Linear_1")).toBe(3);
  expect(findPath(tree, "GPT_0/Linear_1")).toBe(4);
  expect(findPath(tree, "GPT_0/Linear_2")).toBeUndefined();
  expect(pathTo(tree, 3)).toEqual([0, 1, 2, 3]);
});

test("a node's address is good for its own tree only", () => {
  const tree = treeOf(flameOf(TEXT));
  expect(linked(tree, linkTo(tree, 4))).toBe(4);
  expect(linkTo(tree, 0)).toBeUndefined();
  expect(linked(treeOf(flameOf("main 1\n  a 1\n  b 1\n  c 1\n  d 1")), linkTo(tree, 4))).toBe(0);
  for (const odd of [undefined, "", "4", "99.7", "-1.7", "1.5.7", "x.7"]) expect(linked(tree, odd)).toBe(0);
});
