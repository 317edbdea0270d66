// Which period is looked at, what a drag zooms into, and how moments are written.

import { describe, expect, it } from "vitest";
import { clockTicks, momentOf, shortMoment, spanOf, stretchOf } from "../../src/views/production/clock.ts";
import {
  around,
  endsNow,
  lastParams,
  MIN_ZOOM_MINUTES,
  periodOf,
  pointAt,
  queryOf,
  zoomInto,
} from "../../src/views/production/period.ts";

/** Tuesday, November 17, 2026, 03:00 UTC. */
const NOW = Date.UTC(2026, 10, 17, 3) / 60_000;
const GRID = { from: NOW - 360, until: NOW, point_minutes: 2 };

describe("the period of a URL", () => {
  it("is the usual one without parameters", () => {
    expect(periodOf({})).toEqual({ last: "6h", zoom: undefined });
    expect(queryOf(periodOf({}), undefined)).toEqual({ last: "6h", route: undefined });
  });

  it("is a stretch if both ends are there, and remembers where to go back to", () => {
    const period = periodOf({ last: "7d", from: "100", until: "200" });
    expect(period).toEqual({ last: "7d", zoom: { from: 100, until: 200 } });
    expect(queryOf(period, "/a")).toEqual({ from: 100, until: 200, route: "/a" });
    expect(endsNow(period)).toBe(false);
  });

  it("ignores what makes no sense", () => {
    for (const params of [
      { from: "200", until: "100" },
      { from: "100" },
      { from: "x", until: "9" },
      { from: "-5", until: "9" },
      { from: "1e3", until: "9999" },
      { from: "0", until: "99999999" },
    ])
      expect(periodOf(params as Record<string, string>).zoom, JSON.stringify(params)).toBeUndefined();
    expect(periodOf({ last: "2y" }).last).toBe("6h");
  });

  it("leaves the usual choice out of the URL, and the zoom with any choice", () => {
    expect(lastParams("6h")).toEqual({ last: undefined, from: undefined, until: undefined });
    expect(lastParams("7d").last).toBe("7d");
  });
});

describe("a drag", () => {
  it("zooms into whole points, whichever way it went", () => {
    const into = zoomInto(NOW - 100.5, NOW - 60.2, GRID);
    expect(into).toEqual({ from: NOW - 102, until: NOW - 60 });
    expect(zoomInto(NOW - 60.2, NOW - 100.5, GRID)).toEqual(into);
  });

  it("stays inside of what is shown", () => {
    expect(zoomInto(NOW - 20, NOW + 500, GRID)).toEqual({ from: NOW - 20, until: NOW });
    expect(zoomInto(NOW - 9999, NOW - 340, GRID)).toEqual({ from: NOW - 360, until: NOW - 340 });
  });

  it("never shows less than can be looked at", () => {
    for (const at of [NOW - 360, NOW - 200, NOW]) {
      const into = zoomInto(at, at, { ...GRID, point_minutes: 1 });
      expect(into && into.until - into.from).toBe(MIN_ZOOM_MINUTES);
      expect(into?.from).toBeGreaterThanOrEqual(GRID.from);
      expect(into?.until).toBeLessThanOrEqual(GRID.until);
    }
  });

  it("over everything, or over what is as short as can be, changes nothing", () => {
    expect(zoomInto(GRID.from, GRID.until, GRID)).toBeUndefined();
    expect(zoomInto(NOW - 3, NOW - 2, { from: NOW - 5, until: NOW, point_minutes: 1 })).toBeUndefined();
  });

  it("is not needed to look around a moment", () => {
    const into = around(NOW - 53, GRID);
    expect(into?.from).toBeLessThan(NOW - 53);
    expect(into?.until).toBeGreaterThan(NOW - 53);
  });
});

it("a moment falls into the point that holds it", () => {
  const of = { ...GRID, minutes: Array.from({ length: 180 }, (_, at) => GRID.from + 2 * at) };
  expect(pointAt(GRID.from, of)).toBe(0);
  expect(pointAt(GRID.from + 3.9, of)).toBe(1);
  expect(pointAt(GRID.until, of)).toBeUndefined();
  expect(pointAt(GRID.from - 1, of)).toBeUndefined();
});

describe("moments", () => {
  it("have a day only where it is another one", () => {
    expect(shortMoment(NOW - 53, NOW, "utc")).toBe("02:07");
    expect(shortMoment(NOW - 190, NOW, "utc")).toBe("Nov 16, 23:50");
    expect(stretchOf(NOW - 190, NOW - 60, NOW, "utc")).toBe("Nov 16, 23:50 to Nov 17, 02:00");
    expect(momentOf(NOW, "utc")).toBe("Tue, Nov 17, 03:00");
  });

  it("are far from each other in words", () => {
    expect([1, 53, 120, 2879, 2880, 10_080].map(spanOf)).toEqual([
      "1 minute",
      "53 minutes",
      "2 hours",
      "48 hours",
      "2 days",
      "7 days",
    ]);
  });

  it("are marked at round times, days at midnight, and never too many", () => {
    for (const span of [5, 60, 360, 1440, 10_080, 43_200, 500_000])
      for (const most of [2, 5, 14]) {
        const ticks = clockTicks(NOW - span, NOW, most, "utc");
        expect(ticks.length).toBeLessThanOrEqual(most + 1);
        for (const { at, day } of ticks) {
          expect(at).toBeGreaterThanOrEqual(NOW - span);
          expect(at).toBeLessThanOrEqual(NOW);
          expect(day).toBe(at % 1440 === 0);
        }
      }
    expect(clockTicks(NOW - 360, NOW, 6, "utc").map((tick) => tick.label)).toEqual([
      "21:00",
      "22:00",
      "23:00",
      "Nov 17",
      "01:00",
      "02:00",
      "03:00",
    ]);
  });
});
