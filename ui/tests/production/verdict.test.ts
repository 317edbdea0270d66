// The first sentence about a service: the worst of what happened comes first, and names when and where.

import { describe, expect, it } from "vitest";
import { dashboardOf, ERRORS_AT, NOW, SLOW_AT } from "../../e2e/support/service.ts";
import type { LevelChange, ServiceDashboard } from "../../src/data/production-types.ts";
import { burstsOf, worstBurst } from "../../src/views/production/bursts.ts";
import { moversAt } from "../../src/views/production/movers.ts";
import { chainOf, exampleOf, verdictOf } from "../../src/views/production/verdict.ts";

const week = (change: (of: ServiceDashboard) => Partial<ServiceDashboard> = () => ({})) => {
  const of = dashboardOf({ last: "6h" });
  return { ...of, ...change(of) };
};
const calm = () => dashboardOf({ last: "6h" }, { without: ["trouble"] });

describe("the verdict", () => {
  it("names the route, the time, the levels and the region, and the target with them", () => {
    const verdict = verdictOf(week(), true, "utc");
    expect(verdict.sentence).toBe(
      "/predict has been slow since 02:07: p95 rose from 64 ms to 190 ms (2.99×); inference grew most.",
    );
    expect(verdict.detail).toMatch(/of requests to \/predict missed p95<70ms in the last hour \(5\.0% may\)/);
    expect(verdict).toMatchObject({ grade: "bad", route: "/predict", minute: SLOW_AT });
    // Said once, not again among the rest.
    expect(verdict.also.map((one) => one.word)).toEqual(["Errors earlier"]);
  });

  it("speaks of the past in a stretch that does not end now", () => {
    expect(verdictOf(week(), false, "utc").sentence).toContain("/predict was slow from 02:07 on");
  });

  it("says that all is fine, with numbers", () => {
    const verdict = verdictOf(calm(), true, "utc");
    expect(verdict.grade).toBe("good");
    expect(verdict.sentence).toMatch(
      /^The service answers [\d.]+ requests per second, 95% of them within [\d.]+ ms;/,
    );
    expect(verdict.sentence).toContain("all 4 targets are met");
    expect(verdict.also).toEqual([]);
  });

  it("puts silence before everything else", () => {
    const verdict = verdictOf(
      week(() => ({ newest_ns: (NOW - 14) * 60e9 })),
      true,
      "utc",
    );
    expect(verdict.word).toBe("No data");
    expect(verdict.sentence).toContain("since 02:46, for 14 minutes");
    expect(verdict.also[0]?.route).toBe("/predict");
  });

  it("is not silent about a stretch that was zoomed into", () => {
    expect(verdictOf({ ...calm(), newest_ns: (NOW - 14) * 60e9 }, false, "utc").grade).toBe("good");
  });

  it("counts a burst of errors that goes on as worse than a slow level", () => {
    const many = week((of) => ({
      targets: [],
      series: {
        ...of.series,
        errors: of.series.requests.map((n, at) => (at > 350 ? Math.round(n * 0.2) : 0)),
      },
    }));
    const verdict = verdictOf(many, true, "utc");
    expect(verdict.word).toBe("Errors");
    expect(verdict.sentence).toMatch(/^\d\d\.\d% of requests failed since 02:51/);
    expect(verdict.also[0]?.sentence).toContain("/predict has been slow");
  });

  it("warns of a target that was missed without a cause", () => {
    const of = { ...calm() };
    of.targets = of.targets.map((one, at) =>
      at === 0 ? { ...one, kept: false, missed: one.requests * 0.08 } : one,
    );
    const verdict = verdictOf(of, true, "utc");
    expect(verdict).toMatchObject({ grade: "warn", word: "Target missed" });
    expect(verdict.sentence).toBe("8.0% of requests to /predict missed p95<70ms over the period (5.0% may).");
  });

  it("says that there were no requests, not that all is fine", () => {
    expect(verdictOf(dashboardOf({}, { without: ["requests"] }), true, "utc").grade).toBe("none");
  });
});

const change = (minute: number, before: number, after: number): LevelChange => ({
  route: "/a",
  metric: "p95",
  minute,
  before_ns: before * 1e6,
  after_ns: after * 1e6,
  p: 0.001,
  grew: null,
});

describe("a level that rose", () => {
  it("lasts until it is back", () => {
    expect(chainOf("p95", [change(10, 40, 130)])).toMatchObject({ minute: 10, until: undefined });
    expect(chainOf("p95", [change(10, 40, 130), change(30, 130, 41)])).toMatchObject({ minute: 10, until: 30 });
  });

  it("lasts as well if it only came halfway back, at the level it has now", () => {
    const rise = chainOf("p95", [change(10, 40, 130), change(30, 130, 90)]);
    expect(rise).toMatchObject({ minute: 10, until: undefined, before_ns: 40e6, after_ns: 90e6 });
  });

  it("is the latest of several", () => {
    const all = [change(10, 40, 130), change(30, 130, 40), change(50, 40, 60)];
    expect(chainOf("p95", all)).toMatchObject({ minute: 50, until: undefined });
  });

  it("is none if the level only fell", () => {
    expect(chainOf("p95", [change(10, 130, 40)])).toBeUndefined();
  });
});

describe("errors", () => {
  const steady = { requests: Array(60).fill(1000), errors: Array(60).fill(2) };

  it("are no burst at their usual rate", () => {
    expect(burstsOf(steady)).toEqual([]);
    expect(burstsOf({ requests: [3, 4, 2], errors: [1, 0, 1] })).toEqual([]);
  });

  it("are one burst from the first point to the last, with a short break", () => {
    const errors = steady.errors.map((usual, at) => (at >= 20 && at < 30 && at !== 25 ? 80 : usual));
    expect(burstsOf({ ...steady, errors })).toMatchObject([{ from: 20, to: 29, errors: 9 * 80, usual: 0.002 }]);
    expect(worstBurst({ ...steady, errors })?.now).toBe(false);
  });

  it("go on if the newest point, or the one before it, has them", () => {
    const errors = steady.errors.map((usual, at) => (at === 58 ? 80 : usual));
    expect(worstBurst({ ...steady, errors })?.now).toBe(true);
  });

  it("are found where they were planted", () => {
    const of = week();
    const burst = worstBurst(of.series);
    expect(of.minutes[burst?.from ?? 0]).toBe(ERRORS_AT);
  });
});

describe("counters", () => {
  it("that moved with the latency are found, and no other", () => {
    const movers = moversAt(SLOW_AT, week()) ?? [];
    const names = movers.map(({ counter }) => `${counter.name} ${counter.device}`);
    expect(names.slice(0, 3).sort()).toEqual(["GPU busy GPU 0", "GPU power GPU 0", "GPU temperature GPU 0"]);
    expect(names.some((name) => name.includes("GPU 1"))).toBe(false);
    expect(names).not.toContain("CPU busy null");
  });

  it("are not judged from two points", () => {
    expect(moversAt(NOW - 2, week())).toBeUndefined();
    expect(moversAt(SLOW_AT, { ...week(), counters: [] })).toBeUndefined();
  });

  it("that stay are none", () => {
    expect(moversAt(NOW - 120, calm())).toEqual([]);
  });
});

it("the request that is shown is a slow one of the route, from after the change", () => {
  const of = week();
  const one = exampleOf(verdictOf(of, true, "utc"), of.exemplars);
  expect(one?.route).toBe("/predict");
  expect(one?.ended_ns).toBeGreaterThanOrEqual(SLOW_AT * 60e9);
  const all = of.exemplars.filter((other) => other.route === "/predict" && other.ended_ns >= SLOW_AT * 60e9);
  expect(one?.latency_ns).toBe(Math.max(...all.map((other) => other.latency_ns)));
});
