import { expect, test } from "vitest";
import type { Module } from "../../src/data/wire.ts";
import { forestOf, inOrder, opensAtFirst, shareOf, toggle, toggledOf } from "../../src/views/modules/tree.ts";

function row(name: string, depth: number, parent: number | null, device = 0): Module {
  return { name, depth, parent, device_total_ns: device, backward_device_ns: 0 } as Module;
}
const rows = [
  row("GPT_0", 0, null, 100),
  row("Embedding_0", 1, 0, 5),
  row("Block_0", 1, 0, 30),
  row("Linear_0", 2, 2, 10),
  row("Linear_1", 2, 2, 20),
  row("Block_1", 1, 0, 60),
  row("Linear_2", 2, 5, 60),
];
const forest = forestOf(rows);
const names = (wanted: Partial<Parameters<typeof inOrder>[2]>) =>
  inOrder(rows, forest, { isOpen: () => true, ...wanted }).map(
    (s) => `${"-".repeat(s.level)}${rows[s.index]!.name}`,
  );

test("rows follow their parents, closed ones hide what is below", () => {
  expect(names({})).toEqual([
    "-GPT_0",
    "--Embedding_0",
    "--Block_0",
    "---Linear_0",
    "---Linear_1",
    "--Block_1",
    "---Linear_2",
  ]);
  expect(names({ isOpen: (i) => i === 0 })).toEqual(["-GPT_0", "--Embedding_0", "--Block_0", "--Block_1"]);
});

test("siblings are sorted, never torn from their parent", () => {
  expect(names({ sort: "device_total_ns" })).toEqual([
    "-GPT_0",
    "--Block_1",
    "---Linear_2",
    "--Block_0",
    "---Linear_1",
    "---Linear_0",
    "--Embedding_0",
  ]);
});

test("a search shows what it finds with what is around it, opened, and all below it", () => {
  const closed = { isOpen: () => false };
  expect(names({ ...closed, text: "linear_1" })).toEqual(["-GPT_0", "--Block_0", "---Linear_1"]);
  expect(names({ text: "block_0" })).toEqual(["-GPT_0", "--Block_0", "---Linear_0", "---Linear_1"]);
  expect(names({ text: "nothing" })).toEqual([]);
  const found = inOrder(rows, forest, { ...closed, text: "LINEAR" }).filter((s) => s.matched);
  expect(found.map((s) => rows[s.index]!.name)).toEqual(["Linear_0", "Linear_1", "Linear_2"]);
});

test("each row knows its place among its siblings", () => {
  const seen = inOrder(rows, forest, { isOpen: () => true });
  expect(seen.map((s) => [s.place, s.siblings])).toEqual([
    [1, 1],
    [1, 3],
    [2, 3],
    [1, 2],
    [2, 2],
    [3, 3],
    [1, 1],
  ]);
  expect(seen.map((s) => s.open)).toEqual([true, undefined, true, undefined, undefined, true, undefined]);
});

test("a parent that does not stand before is no parent", () => {
  expect(forestOf([row("a", 0, 1), row("b", 0, 0)])).toEqual({ roots: [0], children: [[1], []] });
});

test("what was opened or closed stands in the address", () => {
  expect(toggle(undefined, 7)).toBe("7");
  expect(toggle("7", 3)).toBe("3.7");
  expect(toggle("3.7", 7)).toBe("3");
  expect(toggle("3", 3)).toBeUndefined();
  expect([...toggledOf("3.x.7")]).toEqual([3, 7]);
});

test("small models are open at first, large ones at their upper levels", () => {
  expect(opensAtFirst(rows, 5)).toBe(true);
  const many = Array.from({ length: 100 }, (_, i) => row(`m${i}`, i < 50 ? 1 : 2, null));
  expect(opensAtFirst(many, 0)).toBe(true);
  expect(opensAtFirst(many, 99)).toBe(false);
});

test("shares are of device time, or of host time where there is none", () => {
  const one = { ...row("a", 0, null, 30), backward_device_ns: 20, host_total_ns: 8, backward_host_ns: 2 };
  expect(shareOf(one, 100, 10)).toEqual({ forward: 0.3, backward: 0.2 });
  expect(shareOf(one, 0, 10)).toEqual({ forward: 0.8, backward: 0.2 });
  expect(shareOf(one, 0, 0)).toEqual({ forward: 0, backward: 0 });
});
