import { describe, expect, it } from "vitest";
import { startDrag } from "../../src/parts/drag.ts";
import { StandIn } from "../pointers.ts";

function drag(host: StandIn): string[] {
  const told: string[] = [];
  host.addEventListener("pointerdown", (event) =>
    startDrag(host.element, event as PointerEvent, {
      move: ({ clientX }) => told.push(`move ${clientX}`),
      end: ({ clientX }) => told.push(`end ${clientX}`),
      cancel: () => told.push("cancel"),
    }),
  );
  return told;
}

describe("a drag", () => {
  it("ends where the pointer is released, not where it was seen last", () => {
    const host = new StandIn();
    const told = drag(host);
    host.point("pointerdown", 10, 0);
    host.point("pointermove", 40, 0);
    host.point("pointerup", 90, 0);
    expect(told).toEqual(["move 40", "move 90", "end 90"]);
  });

  it("needs no move between press and release", () => {
    const host = new StandIn();
    const told = drag(host);
    host.point("pointerdown", 10, 0);
    host.point("pointerup", 90, 0);
    expect(told).toEqual(["move 90", "end 90"]);
  });

  it("is over after the release, and heeds no other pointer", () => {
    const host = new StandIn();
    const told = drag(host);
    host.point("pointerdown", 10, 0);
    host.point("pointermove", 300, 0, { pointerId: 2 });
    host.point("pointerup", 300, 0, { pointerId: 2 });
    host.point("pointerup", 20, 0);
    host.point("pointermove", 50, 0);
    host.point("lostpointercapture", 50, 0);
    expect(host.captured).toBe(1);
    expect(told).toEqual(["move 20", "end 20"]);
  });

  it("says when the pointer is taken away", () => {
    const host = new StandIn();
    const told = drag(host);
    host.point("pointerdown", 10, 0);
    host.point("pointercancel", 0, 0);
    host.point("pointermove", 50, 0);
    expect(told).toEqual(["cancel"]);
  });
});
