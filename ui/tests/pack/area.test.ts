import { expect, test } from "vitest";
import { areaOf } from "../../src/data/pack/area.ts";
import type { Items } from "../../src/data/pack/items.ts";
import type { Layout } from "../../src/data/types.ts";

function items(spans: [number, number, number][]): Items {
  const n = spans.length;
  return {
    n,
    start: Float64Array.from(spans, (s) => s[0]),
    end: Float64Array.from(spans, (s) => s[1]),
    id: Uint32Array.from(spans, (_, i) => i),
    name: Uint32Array.from(spans, (s) => s[2]),
    count: new Uint32Array(n).fill(1),
    busy: new Uint8Array(n).fill(255),
    category: new Uint8Array(n),
  };
}

test("self time is less what nests inside, clipped to the area", () => {
  const rows = new Map([
    [0, items([[0, 100, 1]])],
    [
      1,
      items([
        [10, 30, 2],
        [40, 60, 2],
        [95, 120, 3],
      ]),
    ],
  ]);
  const layout = { groups: [{ rows: [0, 1] }] } as unknown as Layout;
  const area = areaOf(rows, (id) => `n${id}`, layout, 20, 200, [0, 1]);
  const self = Object.fromEntries(area.names.map((n) => [n.name, [n.count, n.total_ns, n.self_ns]]));
  expect(self.n1).toEqual([1, 80, 50]);
  expect(self.n2).toEqual([2, 30, 30]);
  expect(self.n3).toEqual([1, 25, 25]);
});

test("rows that are not asked for still take from the self time of those around them", () => {
  const rows = new Map([
    [0, items([[0, 100, 1]])],
    [1, items([[10, 30, 2]])],
  ]);
  const layout = { groups: [{ rows: [0, 1] }] } as unknown as Layout;
  const area = areaOf(rows, (id) => `n${id}`, layout, 0, 100, [0]);
  expect(area.names.map((n) => [n.name, n.total_ns, n.self_ns])).toEqual([["n1", 100, 80]]);
});
