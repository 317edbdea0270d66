// What the charts draw: lines with gaps, stacks, the heat map, marks; and the bars of one request.

import { describe, expect, it } from "vitest";
import { dashboardOf } from "../../e2e/support/service.ts";
import { grouped, worstKind } from "../../src/views/production/board/events.ts";
import {
  frameOf,
  linePath,
  perSecond,
  secondsOf,
  stackOf,
  stepArea,
} from "../../src/views/production/board/frame.ts";
import {
  bucketOf,
  darkness,
  heatScale,
  heatTicks,
  heightOf,
  latencyAt,
} from "../../src/views/production/board/heat-scale.ts";
import { sorted } from "../../src/views/production/routes.tsx";
import { longestOwn, outside, placed } from "../../src/views/production/spans.ts";
import { sentenceOf } from "../../src/views/production/verdict-card.tsx";
import { changeOf, counterText, rate, toneOf } from "../../src/views/production/words.ts";

const of = dashboardOf({ last: "1h" });
const frame = frameOf({ ...of, from: 0, until: 6, point_minutes: 1, minutes: [0, 1, 2, 3, 4, 5] }, 60);
const y = (value: number) => 100 - value;

describe("lines and areas", () => {
  it("leave a gap where nothing is known, and show a point alone", () => {
    expect(linePath([1, 2, null, 3, null, null], frame, y)).toBe("M5 99L15 98M30 97h10");
    expect(linePath([null, null, null], frame, y)).toBe("");
  });

  it("reach from the start of a point to its end", () => {
    expect(stepArea([0, 0, 0], [10, null, 20], frame, y)).toBe("M0 100V90H10V100ZM20 100V80H30V100Z");
  });

  it("put minutes and places onto each other", () => {
    for (const minute of [0, 1.5, 6]) expect(frame.minute(frame.x(minute))).toBeCloseTo(minute);
  });

  it("stack regions up to the whole", () => {
    const stack = stackOf(of, "share");
    const top = stack[stack.length - 1]!.high.filter((value) => value !== null);
    expect(top.length).toBeGreaterThan(50);
    for (const value of top) expect(value).toBeCloseTo(1);
    const time = stackOf(of, "time");
    const sum = of.regions.reduce((all, one) => all + one.time_ns[5]!, 0) / of.series.requests[5]!;
    expect(time[time.length - 1]!.high[5]).toBeCloseTo(sum);
  });

  it("a point that has just begun counts as long as it is", () => {
    const young = { ...of, newest_ns: (of.until - 1) * 60e9 + 15e9 };
    expect(secondsOf(young, of.minutes.length - 1)).toBe(15);
    expect(secondsOf(young, 0)).toBe(60);
    const rates = perSecond(
      of.series.requests.map((_, at) => (at === of.minutes.length - 1 ? 15 : 60)),
      young,
    );
    expect(rates.every((one) => one === 1)).toBe(true);
  });
});

describe("the heat map", () => {
  const scale = heatScale(of.heat)!;

  it("reaches over all requests and no further", () => {
    const sums = of.heat.bounds_ns
      .slice(1)
      .map((_, at) => of.heat.counts.reduce((sum, one) => sum + one[at]!, 0));
    expect(sums.slice(0, scale.first).every((many) => many === 0)).toBe(true);
    expect(sums.slice(scale.last + 1).every((many) => many === 0)).toBe(true);
    expect(scale.low_ns).toBe(of.heat.bounds_ns[scale.first]);
    expect(heatScale({ bounds_ns: [1, 10, 100], counts: [[0, 0]] })).toBeUndefined();
    expect(heatScale({ bounds_ns: [], counts: [] })).toBeUndefined();
  });

  it("gives each factor the same room", () => {
    const wide = { ...scale, low_ns: 1e5, high_ns: 1e9 };
    expect(heightOf(1e7, wide)).toBeCloseTo(0.5);
    expect(heightOf(5, wide)).toBe(0);
    expect(heightOf(1e12, wide)).toBe(1);
    expect(latencyAt(heightOf(3e6, wide), wide)).toBeCloseTo(3e6, 0);
    expect(bucketOf(15, [1, 10, 100, 1000])).toBe(1);
    expect(bucketOf(1e9, [1, 10, 100, 1000])).toBe(2);
  });

  it("shows a single request beside thousands", () => {
    expect(darkness(0, 5000)).toBe(0);
    expect(darkness(1, 5000)).toBeGreaterThan(0.12);
    expect(darkness(5000, 5000)).toBeCloseTo(1);
  });

  it("has few round ticks", () => {
    expect(heatTicks({ ...scale, low_ns: 1e5, high_ns: 1e10 }, 7)).toEqual([1e5, 1e6, 1e7, 1e8, 1e9, 1e10]);
    for (const high of [2e5, 1e6, 1e8, 1e12])
      expect(heatTicks({ ...scale, low_ns: 1e5, high_ns: high }, 7).length).toBeLessThanOrEqual(8);
  });
});

describe("marks", () => {
  it("share a place where they would hide each other", () => {
    const groups = grouped(of.happened, (minute) => minute, 3);
    expect(groups.map((group) => group.length)).toEqual([2, 1]);
    expect(worstKind(groups[0]!)).toBe("worse");
  });
});

describe("a request", () => {
  const span = (name: string, parent: number | null, start_ns: number, duration_ns: number) => ({
    name,
    parent,
    start_ns,
    duration_ns,
  });
  const one = {
    latency_ns: 100,
    spans: [span("b", null, 50, 40), span("inside", 0, 55, 30), span("a", null, 0, 20), span("odd", 99, 10, 5)],
  };

  it("has its regions in order, each below the one that it is inside of", () => {
    expect(placed(one).map(({ name, depth, own_ns }) => [name, depth, own_ns])).toEqual([
      ["a", 0, 20],
      ["odd", 0, 5],
      ["b", 0, 10],
      ["inside", 1, 30],
    ]);
    expect(placed(one)[3]).toMatchObject({ start: 0.55, length: 0.3 });
  });

  it("has time outside of them, and one that took most", () => {
    expect(outside(one)).toBe(40);
    expect(longestOwn(one)).toEqual({ name: "(outside regions)", own_ns: 40 });
    expect(longestOwn({ latency_ns: 5, spans: [] })).toBeUndefined();
  });

  it("never leaves its bar, whatever the file says", () => {
    const wild = { latency_ns: 10, spans: [span("x", null, -5, 400), span("y", 0, 50, 3), span("z", 2, 0, 1)] };
    for (const { start, length } of placed(wild)) {
      expect(start).toBeGreaterThanOrEqual(0);
      expect(start + length).toBeLessThanOrEqual(1);
    }
    expect(placed(wild)).toHaveLength(3);
  });
});

it("routes are sorted by any number, names upwards", () => {
  const names = (by: string) => sorted(of.routes, by).map((one) => one.route);
  expect(names("route")).toEqual(["/embed", "/generate", "/health", "/predict"]);
  expect(names("p95_ns")[0]).toBe("/generate");
  expect(names("change")[0]).toBe("/predict");
  expect(names("nonsense")).toEqual(names("time_share"));
});

it("the sentence of the server has its times in the zone of the reader", () => {
  const { verdict } = dashboardOf({ last: "6h" });
  expect(sentenceOf(verdict, "utc")).toMatch(/^\/predict has been slow since 02:07: p95 rose from 64 ms/);
  expect(sentenceOf(verdict.also[0]!, "utc")).toContain("failed from Nov 16, 23:50 to Nov 17, 00:04: ");
});

it("numbers read as people say them", () => {
  expect([0, 0.004, 0.5, 41.23, 1204.4].map(rate)).toEqual(["0", "<0.01", "0.50", "41.2", "1,204"]);
  expect(changeOf(100, 112.3)).toBe("+12.3%");
  expect(changeOf(100, 96)).toBe("-4.0%");
  expect(changeOf(100, 299)).toBe("2.99×");
  expect(changeOf(0, 5)).toBeUndefined();
  expect([110, 105, 104, 96, 95].map((after) => toneOf(100, after, 0.05))).toEqual([
    "tone-bad",
    "tone-bad",
    "",
    "",
    "tone-good",
  ]);
  expect(toneOf(undefined, 5, 0.05)).toBe("");
  expect(counterText(51.3, "percent")).toBe("51.3%");
  expect(counterText(2 ** 30, "bytes")).toBe("1.00 GiB");
  expect(counterText(351.2, "watts")).toBe("351 W");
});
