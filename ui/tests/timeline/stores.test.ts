import { afterEach, describe, expect, it, vi } from "vitest";
import { NameStore, SHADE_COUNT, shadeOf } from "../../src/data/name-store.ts";
import { TileStore, Wanted } from "../../src/data/tile-store.ts";
import { writeTiles } from "../../src/data/write-tiles.ts";

const wanted = (...keys: [number, number, number][]) => {
  const list = new Wanted();
  for (const key of keys) list.add(...key);
  return list;
};
const none = new Wanted();
const empty = (keys: string[]) =>
  writeTiles(
    keys.map((key) => {
      const [row = 0, level = 0, index = 0] = key.split(".").map(Number);
      return { row, level, index, items: [] };
    }),
  );
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

afterEach(() => {
  vi.useRealTimers();
});

describe("asking for tiles", () => {
  it("asks once for what is missing, several in one request", async () => {
    const asked: string[][] = [];
    const store = new TileStore({
      fetch: async (keys) => {
        asked.push(keys);
        return empty(keys);
      },
      changed: () => {},
      failed: () => {},
    });
    store.want(wanted([0, 3, 1], [1, 3, 1]), none);
    store.want(wanted([0, 3, 1], [1, 3, 1]), none);
    await settle();
    expect(asked).toEqual([["0.3.1", "1.3.1"]]);
    expect(store.cache.has(0, 3, 1)).toBe(true);
  });

  it("asks for no more than 256 at once", async () => {
    const sizes: number[] = [];
    const store = new TileStore({
      fetch: async (keys) => {
        sizes.push(keys.length);
        return empty(keys);
      },
      changed: () => {},
      failed: () => {},
    });
    const many = new Wanted();
    for (let index = 0; index < 700; index++) many.add(0, 3, index);
    store.want(many, none);
    await settle();
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
  });

  it("gives up what is no longer wanted", async () => {
    const signals: AbortSignal[] = [];
    const store = new TileStore({
      fetch: (_keys, signal) => {
        signals.push(signal);
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
        });
      },
      changed: () => {},
      failed: () => {
        throw new Error("giving up is no failure");
      },
    });
    store.want(wanted([0, 3, 1]), none);
    store.want(wanted([0, 9, 0]), none);
    await settle();
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[1]?.aborted).toBe(false);
  });

  it("looks ahead only when nothing in sight is awaited", async () => {
    const asked: string[] = [];
    const store = new TileStore({
      fetch: (keys) => {
        asked.push(...keys);
        return new Promise(() => {});
      },
      changed: () => {},
      failed: () => {},
    });
    store.want(wanted([0, 3, 1]), none);
    store.want(none, wanted([0, 3, 1], [0, 3, 2]));
    expect(asked).toEqual(["0.3.1"]);
  });

  it("says what went wrong, waits, and asks again", async () => {
    vi.useFakeTimers();
    let fail = true;
    let changes = 0;
    const problems: (string | undefined)[] = [];
    const store = new TileStore({
      fetch: async (keys) => {
        if (fail) throw new Error("gone");
        return empty(keys);
      },
      changed: () => {
        changes++;
      },
      failed: (problem) => problems.push(problem?.message),
    });
    store.want(wanted([0, 3, 1]), none);
    await vi.advanceTimersByTimeAsync(1);
    store.want(wanted([0, 3, 1]), none);
    expect(problems).toEqual(["gone"]);
    fail = false;
    const before = changes;
    await vi.advanceTimersByTimeAsync(2000);
    expect(changes).toBeGreaterThan(before);
    store.want(wanted([0, 3, 1]), none);
    await vi.advanceTimersByTimeAsync(1);
    expect(problems).toEqual(["gone", undefined]);
    expect(store.cache.has(0, 3, 1)).toBe(true);
  });

  it("does not ask for ever for a tile that the server leaves out", async () => {
    let asked = 0;
    const store = new TileStore({
      fetch: async () => {
        asked++;
        return writeTiles([]);
      },
      changed: () => {},
      failed: () => {},
    });
    store.want(wanted([4, 3, 1]), none);
    await settle();
    expect(store.cache.has(4, 3, 1)).toBe(true);
    expect(asked).toBe(1);
  });
});

describe("names", () => {
  it("gives the same shade to the same name, whatever its number", () => {
    expect(shadeOf("aten::mm")).toBe(shadeOf("aten::mm"));
    const shades = new Set(Array.from({ length: 200 }, (_, i) => shadeOf(`kernel_${i}`)));
    expect(shades.size).toBe(SHADE_COUNT);
  });

  it("fetches in batches, once each", async () => {
    const asked: number[][] = [];
    const store = new NameStore({
      fetch: async (ids) => {
        asked.push(ids);
        return ids.map((id) => `name ${id}`);
      },
      changed: () => {},
    });
    for (const id of [5, 6, 5, 7]) store.shade(id);
    store.text(6);
    store.flush();
    store.flush();
    await settle();
    expect(asked).toEqual([[5, 6, 7]]);
    expect(store.text(6)).toBe("name 6");
    expect(store.shade(6)).toBe(shadeOf("name 6"));
  });

  it("stays within its bound with hostile numbers of long names, and asks again for what it forgot", async () => {
    const long = "x".repeat(5000);
    let most = 0;
    const store = new NameStore({
      fetch: async (ids) => {
        most = Math.max(most, ids.length);
        return ids.map((id) => `${id} ${long}`);
      },
      changed: () => {},
    });
    for (let round = 0; round < 60; round++) {
      for (let id = round * 100; id < round * 100 + 100; id++) store.text(id);
      for (let part = 0; part < 8; part++) {
        store.flush();
        await settle();
      }
    }
    expect(store.size * 5000).toBeLessThan(12e6);
    expect(store.text(0)).toBeUndefined();
    for (let part = 0; part < 8; part++) {
      store.flush();
      await settle();
    }
    expect(store.text(0)?.startsWith("0 ")).toBe(true);
  });

  it("finds by number and by test, also names that come later", async () => {
    const store = new NameStore({ fetch: async (ids) => ids.map((id) => `op${id}`), changed: () => {} });
    store.search((name) => name.endsWith("3"), [9]);
    store.shade(13);
    store.shade(14);
    store.flush();
    await settle();
    expect([9, 13, 14].map((id) => store.isHit(id))).toEqual([true, true, false]);
    store.search(undefined);
    expect(store.isHit(13)).toBe(false);
  });
});
