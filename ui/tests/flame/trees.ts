// Small trees written as text: `name self [count]`, two spaces a level.

import type { Flame } from "../../src/data/types.ts";

export function flameOf(text: string, weight: Flame["weight"] = "host"): Flame {
  const names: string[] = [];
  const flame: Flame = {
    weight,
    clock: "host",
    unit: "nanoseconds",
    total_ns: 0,
    names,
    name: [],
    parent: [],
    self_ns: [],
    total_ns_of: [],
    count: [],
    category: [],
    pruned_nodes: 0,
    pruned_ns: 0,
    deeper_slices: 0,
  };
  const open: number[] = [];
  for (const line of text.split("\n").filter((l) => l.trim() !== "")) {
    const level = (line.length - line.trimStart().length) / 2;
    const [name = "", self = "0", count = "1"] = line.trim().split(" ");
    if (!names.includes(name)) names.push(name);
    open.length = level;
    flame.parent.push(open[level - 1] ?? -1);
    open.push(flame.name.length);
    flame.name.push(names.indexOf(name));
    flame.self_ns.push(Number(self));
    flame.total_ns_of.push(Number(self));
    flame.count.push(Number(count));
    flame.category.push(0);
    flame.total_ns += Number(self);
  }
  for (let i = flame.name.length - 1; i >= 0; i--) {
    const parent = flame.parent[i]!;
    if (parent >= 0) flame.total_ns_of[parent]! += flame.total_ns_of[i]!;
  }
  return flame;
}

/** A tree of about `size` nodes from a seed, for what must hold of any. */
export function anyFlame(size: number, seed: number): Flame {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const lines: string[] = [];
  let level = 0;
  for (let i = 0; i < size; i++) {
    // Few large, many tiny: bands must appear.
    const self = next(10) === 0 ? next(1_000_000) : next(40);
    lines.push(`${"  ".repeat(level)}f${next(12)} ${self}`);
    level = Math.max(0, Math.min(level + 1, next(9)));
  }
  return flameOf(lines.join("\n"));
}
