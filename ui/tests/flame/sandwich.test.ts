import { describe, expect, test } from "vitest";
import { callees, callers, functions, outermost, SMALLER_ID } from "../../src/views/flame/sandwich.ts";
import { nameOf, type Tree, treeOf } from "../../src/views/flame/tree.ts";
import { anyFlame, flameOf } from "./trees.ts";

const RECURSIVE = `
main 0
  walk 10 1
    walk 20 1
      visit 5 3
      walk 30 1
  visit 7 1
other 0
  walk 100 2
    visit 1 1
`;

/** `path total` of every node, to read a tree at a glance. */
function lines(tree: Tree): string[] {
  return Array.from({ length: tree.size }, (_, node) => {
    let path = nameOf(tree, node);
    for (let at = tree.parent[node]!; at >= 0; at = tree.parent[at]!) path = `${nameOf(tree, at)}/${path}`;
    return `${path} ${tree.total[node]} ${tree.self[node]}`;
  }).sort();
}

const tree = treeOf(flameOf(RECURSIVE));
const idOf = (name: string) => tree.names.indexOf(name);

test("recursion counts once in totals, every time in self and count", () => {
  const walk = functions(tree).find((row) => row.name === "walk")!;
  expect(walk).toMatchObject({ self_ns: 10 + 20 + 30 + 100, total_ns: 65 + 101, count: 5 });
  expect(functions(tree).map((row) => row.name)).toEqual(["walk", "visit", "other", "main"]);
});

test("counts that hold those below are not added up along a stack", () => {
  const device = treeOf(flameOf("main 0 3\n  walk 1 3\n    walk 1 2\n      kernel 5 2", "device"));
  expect(functions(device).find((row) => row.name === "walk")!.count).toBe(3);
});

test("only the outermost of a name counts as an occurrence", () => {
  const outer = outermost(tree);
  const walks = Array.from({ length: tree.size }, (_, i) => i).filter((i) => nameOf(tree, i) === "walk");
  expect(walks.map((i) => outer[i])).toEqual([1, 0, 0, 1]);
});

test("callers share out the function's whole time", () => {
  expect(lines(callers(tree, idOf("walk"))!)).toEqual(["walk 166 0", "walk/main 65 65", "walk/other 101 101"]);
  expect(lines(callers(tree, idOf("visit"))!)).toEqual([
    "visit 13 0",
    "visit/main 7 7",
    "visit/walk 6 0",
    "visit/walk/other 1 1",
    "visit/walk/walk 5 0",
    "visit/walk/walk/main 5 5",
  ]);
});

test("callees lay all occurrences over each other", () => {
  expect(lines(callees(tree, idOf("walk"))!)).toEqual([
    "walk 166 110",
    "walk/visit 1 1",
    "walk/walk 55 20",
    "walk/walk/visit 5 5",
    "walk/walk/walk 30 30",
  ]);
});

test("an unknown function has neither", () => {
  expect(callers(tree, 99)).toBeUndefined();
  expect(callees(tree, 99)).toBeUndefined();
});

test("what was put together is one row", () => {
  const rows = functions(treeOf(flameOf("main 5\n  (3_smaller) 2\nb 1")));
  expect(rows.map((row) => row.name)).toContain("(3_smaller)");
  const flame = flameOf("main 5\n  x 2\n  y 4\nz 1");
  flame.names[1] = "(3 smaller)";
  flame.names[2] = "(12 smaller)";
  const found = functions(treeOf(flame)).find((row) => row.id === SMALLER_ID)!;
  expect(found).toMatchObject({ name: "(smaller nodes)", self_ns: 6, total_ns: 6 });
});

describe.each([3, 99, 2024])("of any tree (seed %i)", (seed) => {
  const any = treeOf(anyFlame(1500, seed));
  const rows = functions(any);

  test("self times add up to all time", () => {
    expect(rows.reduce((sum, row) => sum + row.self_ns, 0)).toBe(any.total[0]);
  });

  test("callers and callees of each function hold exactly its total", () => {
    for (const row of rows) {
      const above = callers(any, row.id)!;
      const below = callees(any, row.id)!;
      expect(above.total[0]).toBe(row.total_ns);
      expect(below.total[0]).toBe(row.total_ns);
      expect(above.self.reduce((sum, ns) => sum + ns, 0)).toBe(row.total_ns);
      expect(below.self.reduce((sum, ns) => sum + ns, 0)).toBe(row.total_ns);
    }
  });
});
