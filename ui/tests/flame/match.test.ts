import { expect, test } from "vitest";
import { fitted, labels } from "../../src/views/flame/box-label.ts";
import { match, nextMatch, shares } from "../../src/views/flame/match.ts";
import { treeOf } from "../../src/views/flame/tree.ts";
import { flameOf } from "./trees.ts";

const tree = treeOf(flameOf("main 10\n  aten::linear 5\n    aten::addmm 30\n  aten::MM 15\nother 40"));

test("nested matches count once", () => {
  const found = match(tree, "aten::")!;
  expect(found.count).toBe(3);
  // linear with addmm below it, and MM beside it.
  expect(found.total).toBe(35 + 15);
  expect([...found.nodes]).toEqual([0, 0, 1, 1, 1, 0]);
  expect([...found.inside]).toEqual([1, 1, 1, 1, 1, 0]);
});

test("the case of letters does not matter, blanks around do not either", () => {
  expect(match(tree, " mm ")!.total).toBe(45);
  expect(match(tree, "MM")!.count).toBe(2);
});

test("an empty text seeks nothing, the root is never found", () => {
  expect(match(tree, "  ")).toBeUndefined();
  expect(match(tree, "all")!.count).toBe(0);
});

test("a root with a name of its own is found where asked", () => {
  expect(match(tree, "all", true)!).toMatchObject({ count: 1, total: 100 });
});

test("matches are visited from the largest on, round and round", () => {
  const found = match(tree, "aten::")!;
  const first = nextMatch(tree, found, undefined, false)!;
  expect(first).toBe(2);
  expect(nextMatch(tree, found, 2, false)).toBe(3);
  expect(nextMatch(tree, found, 3, false)).toBe(4);
  expect(nextMatch(tree, found, 4, false)).toBe(2);
  expect(nextMatch(tree, found, 2, true)).toBe(4);
  expect(nextMatch(tree, match(tree, "nothing")!, undefined, false)).toBeUndefined();
});

test("shares are of all and of the parent", () => {
  expect(shares(tree, 3)).toEqual({ ofAll: 0.3, ofParent: 30 / 35 });
  expect(shares(tree, 0)).toEqual({ ofAll: 1, ofParent: 1 });
});

test("labels shorten to what tells most", () => {
  expect(labels("torch/optim/adam.py(554): _multi_tensor_adam")).toEqual([
    "torch/optim/adam.py(554): _multi_tensor_adam",
    "_multi_tensor_adam adam.py:554",
    "_multi_tensor_adam",
  ]);
  expect(labels("nn.Module: Linear_3")[1]).toBe("Linear_3");
  expect(labels("<built-in method run_backward of torch._C._EngineBase object at 0x7f>")[1]).toBe(
    "run_backward",
  );
  const measure = (text: string) => text.length * 7;
  expect(fitted("nn.Module: Linear_3", 60, measure)).toBe("Linear_3");
  expect(fitted("aten::empty_strided", 60, measure)).toBe("aten::e…");
  expect(fitted("aten::empty_strided", 10, measure)).toBe("");
  expect(fitted("x".repeat(5000), 700, measure)).toHaveLength(100);
});
