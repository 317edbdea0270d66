import { beforeEach, describe, expect, it, vi } from "vitest";

// The parts of a browser that addresses need. The event of a change comes later, as browsers do.
const location = { hash: "" };
vi.stubGlobal("location", location);
vi.stubGlobal("history", {
  replaceState: (_state: unknown, _title: string, url: string) => {
    location.hash = url;
  },
});
let told: () => void = () => {};
vi.stubGlobal("addEventListener", (_name: string, run: () => void) => {
  told = run;
});

const { go, href, param, pushParams, route, setParams, startRouting } = await import(
  "../../src/session/route.ts"
);

function visit(hash: string): void {
  location.hash = hash;
  told();
}

describe("the address", () => {
  startRouting();
  beforeEach(() => visit("#/timeline?run=2&step=5&from=10"));

  it("is the state of the page", () => {
    expect(route.value).toEqual({ view: "timeline", params: { run: "2", step: "5", from: "10" } });
    visit("");
    expect(route.value.view).toBe("overview");
  });

  it("keeps run, step and device from view to view, and nothing else", () => {
    expect(href("kernels", { open: 0 })).toBe("#/kernels?run=2&step=5&open=0");
  });

  it("changes in place, and what is undefined goes", () => {
    setParams({ from: undefined, to: 20 });
    expect(location.hash).toBe("#/timeline?run=2&step=5&to=20");
    expect(param("to")).toBe("20");
  });

  it("is not turned back by a view that has been left", () => {
    location.hash = "#/operators?run=2"; // a link: its event has not been told yet
    setParams({ from: 11 });
    pushParams({ from: 12 });
    expect(location.hash).toBe("#/operators?run=2");
    told();
    expect(route.value).toEqual({ view: "operators", params: { run: "2" } });
  });

  it("is followed at once when the page itself changes it", () => {
    go("operators", { open: 1 });
    expect(route.value).toEqual({ view: "operators", params: { run: "2", step: "5", open: "1" } });
    pushParams({ open: 2 });
    expect(param("open")).toBe("2");
    const now = route.value;
    told(); // the late event changes nothing
    expect(route.value).toBe(now);
  });

  it("does not lose what was changed just before, either", () => {
    pushParams({ to: 30 });
    setParams({ sel: 7 }); // the event of the first change has not come yet
    expect(location.hash).toBe("#/timeline?run=2&step=5&from=10&to=30&sel=7");
  });
});
