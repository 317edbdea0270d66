// News become questions: not too many, not unseen, none lost; and answers take the place of older ones only.

import { describe, expect, it } from "vitest";
import { dashboardOf, NOW } from "../../e2e/support/service.ts";
import { APART_MS, Refresher } from "../../src/views/production/live.ts";
import { keyOf, merged } from "../../src/views/production/merge.ts";

/** A clock that goes only when it is asked to. */
function stage() {
  let now = 10_000;
  let waiting: { at: number; run: () => void }[] = [];
  const questions: number[] = [];
  const refresher = new Refresher({
    now: () => now,
    later(run, ms) {
      const entry = { at: now + ms, run };
      waiting.push(entry);
      return () => {
        waiting = waiting.filter((one) => one !== entry);
      };
    },
    ask: () => questions.push(now),
  });
  const pass = (ms: number) => {
    const end = now + ms;
    for (;;) {
      const next = waiting.filter((one) => one.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      waiting = waiting.filter((one) => one !== next);
      now = next.at;
      next.run();
    }
    now = end;
  };
  return { refresher, questions, pass, timers: () => waiting.length };
}

describe("news", () => {
  it("are asked for at once, then not more often than every two seconds", () => {
    const { refresher, questions, pass } = stage();
    for (let at = 0; at < 50; at++) {
      refresher.changed();
      refresher.answered();
      pass(200);
    }
    expect(questions[0]).toBe(10_000);
    const apart = questions.slice(1).map((at, i) => at - questions[i]!);
    expect(Math.min(...apart)).toBeGreaterThanOrEqual(APART_MS);
    expect(questions.length).toBeGreaterThanOrEqual(5);
  });

  it("are asked for once, however many there were", () => {
    const { refresher, questions, pass } = stage();
    refresher.changed();
    refresher.answered();
    for (let at = 0; at < 5; at++) refresher.changed();
    pass(60_000);
    expect(questions).toHaveLength(2);
  });

  it("wait for the answer before: a slow server is not asked twice at once", () => {
    const { refresher, questions, pass } = stage();
    refresher.changed();
    refresher.changed();
    pass(30_000);
    expect(questions).toHaveLength(1);
    refresher.answered();
    pass(0);
    expect(questions).toHaveLength(2);
  });

  it("wait until the page is looked at", () => {
    const { refresher, questions, pass } = stage();
    refresher.show(false);
    refresher.changed();
    pass(600_000);
    expect(questions).toEqual([]);
    refresher.show(true);
    expect(questions).toHaveLength(1);
  });

  it("do not move a stretch that was zoomed into, and are there when it is left", () => {
    const { refresher, questions, pass } = stage();
    refresher.follow(false);
    refresher.changed();
    pass(600_000);
    expect(questions).toEqual([]);
    refresher.follow(true);
    expect(questions).toHaveLength(1);
  });

  it("that a question of another kind answers are not asked for again", () => {
    const { refresher, questions, pass } = stage();
    refresher.follow(false);
    refresher.changed();
    refresher.asked();
    refresher.follow(true);
    refresher.answered();
    pass(60_000);
    expect(questions).toEqual([]);
  });

  it("without any, nothing is asked and no timer runs", () => {
    const { refresher, questions, pass, timers } = stage();
    refresher.asked();
    refresher.answered();
    pass(600_000);
    expect(questions).toEqual([]);
    expect(timers()).toBe(0);
  });
});

describe("an answer", () => {
  const old = dashboardOf({ last: "1h" });

  it("takes the place of an older one", () => {
    const next = { ...old, until: old.until + 1, from: old.from + 1 };
    expect(merged(old, next, undefined)).toBe(next);
    expect(merged(undefined, next, undefined)).toBe(next);
  });

  it("that was overtaken does not", () => {
    expect(merged(old, { ...old, until: old.until - 1 }, undefined)).toBe(old);
    expect(merged(old, { ...old, newest_ns: NOW * 60e9 - 9e9 }, undefined)).toBe(old);
  });

  it("keeps the request that is open", () => {
    const open = keyOf(old.exemplars[3]!);
    const next = { ...old, exemplars: old.exemplars.slice(5) };
    const shown = merged(old, next, open);
    expect(shown.exemplars).toHaveLength(next.exemplars.length + 1);
    expect(shown.exemplars.some((one) => keyOf(one) === open)).toBe(true);
    expect(merged(old, next, undefined)).toBe(next);
    expect(merged(old, old, open).exemplars).toHaveLength(old.exemplars.length);
  });
});
