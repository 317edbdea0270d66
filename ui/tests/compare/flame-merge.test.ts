// Two flame graphs as one: every nanosecond of both is in it, per step.

import { describe, expect, it } from "vitest";
import { changeLevel, keyOf, merge, treeBy } from "../../src/views/compare/flame-merge.ts";
import { nameOf } from "../../src/views/flame/tree.ts";
import { anyFlame, flameOf } from "../flame/trees.ts";

const BEFORE = flameOf(`
main 10
  load 60
  train 0
    mm 20
    old 10`);
const AFTER = flameOf(`
main 30
  train 0
    mm 120
    new 30
  load 20`);

/** Name, before and after of each node. */
function read(side: "before" | "after", steps: [number, number] = [1, 1]) {
  const both = treeBy(merge(BEFORE, AFTER, steps), side);
  return Array.from(both.before, (before, i) => [nameOf(both.tree, i), before, both.after[i]]);
}

describe("two flame graphs", () => {
  it("are merged by path, with both runs' times", () => {
    expect(read("after")).toEqual([
      ["all", 100, 200],
      ["main", 100, 200],
      ["load", 60, 20],
      ["train", 30, 150],
      ["mm", 20, 120],
      ["new", 0, 30],
    ]);
  });

  it("have the nodes of the run that gives the widths; the others are counted", () => {
    expect(read("before").map(([name]) => name)).toEqual(["all", "main", "load", "train", "mm", "old"]);
    expect(treeBy(merge(BEFORE, AFTER, [1, 1]), "after")).toMatchObject({ missing: 1, missing_ns: 10 });
    expect(treeBy(merge(BEFORE, AFTER, [1, 1]), "before")).toMatchObject({ missing: 1, missing_ns: 30 });
  });

  it("count per step", () => {
    expect(read("after", [1, 2]).find(([name]) => name === "mm")).toEqual(["mm", 20, 60]);
    expect(read("after", [5, 10])[0]).toEqual(["all", 20, 20]);
  });

  it("count a lost subtree once, at its top", () => {
    const both = treeBy(merge(flameOf("a 1\n  b 2\n    c 3"), flameOf("a 1"), [1, 1]), "after");
    expect(both).toMatchObject({ missing: 1, missing_ns: 5 });
  });

  it("show no change where there is none", () => {
    const flame = anyFlame(600, 3);
    for (const side of ["before", "after"] as const) {
      const both = treeBy(merge(flame, flame, [3, 3]), side);
      expect([...both.changes].every((level) => level === 0)).toBe(true);
      expect(both.missing).toBe(0);
    }
  });

  it("lose no time, whatever their shapes", () => {
    for (let seed = 1; seed < 20; seed++) {
      const [a, b] = [anyFlame(300, seed), anyFlame(200, seed + 100)];
      const merged = merge(a, b, [2, 1]);
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
      expect(sum(merged.self[0])).toBeCloseTo(a.total_ns / 2, 3);
      expect(sum(merged.self[1])).toBeCloseTo(b.total_ns, 3);
      for (const side of ["before", "after"] as const) {
        const { tree } = treeBy(merged, side);
        for (let i = 1; i < tree.size; i++) expect(tree.parent[i]!).toBeLessThan(i);
        expect(tree.total[0]).toBeCloseTo(side === "before" ? a.total_ns / 2 : b.total_ns, 3);
      }
    }
  });
});

describe("two nodes are the same", () => {
  it("whatever their thread's number, the line, and how many small ones they represent", () => {
    expect(keyOf("thread 403 (python3)", true)).toBe(keyOf("thread 77 (python3)", true));
    expect(keyOf("thread 403 (python3)", false)).not.toBe(keyOf("thread 77 (python3)", false));
    expect(keyOf("a/train.py(12): step", false)).toBe(keyOf("a/train.py(15): step", false));
    expect(keyOf("a/train.py(12): step", false)).not.toBe(keyOf("a/train.py(12): other", false));
    expect(keyOf("(12 smaller)", false)).toBe(keyOf("(3 smaller)", false));
    expect(keyOf("Linear_3", false)).not.toBe(keyOf("Linear_4", false));
  });

  it("even if two threads of a run have one name", () => {
    const merged = merge(flameOf("t 5\n  f 1"), flameOf("t 5\n  f 1\nt 2\n  f 3"), [1, 1]);
    const both = treeBy(merged, "after");
    expect([...both.before]).toEqual([6, 6, 1]);
    expect([...both.after]).toEqual([11, 11, 4]);
  });
});

describe("the color of a change", () => {
  it("is none for the same, full for half and twice, and grows between", () => {
    expect(changeLevel(100, 100)).toBe(0);
    expect(changeLevel(100, 101)).toBe(0);
    expect(changeLevel(100, 200)).toBe(1);
    expect(changeLevel(100, 900)).toBe(1);
    expect(changeLevel(100, 50)).toBe(-1);
    expect(changeLevel(0, 5)).toBe(1);
    expect(changeLevel(5, 0)).toBe(-1);
    expect(changeLevel(0, 0)).toBe(0);
    expect(changeLevel(100, 120)).toBeGreaterThan(0.2);
    expect(changeLevel(100, 120)).toBeLessThan(changeLevel(100, 150));
  });

  it("is as strong for less as for more", () => {
    expect(changeLevel(100, 80)).toBe(-changeLevel(80, 100));
  });
});
