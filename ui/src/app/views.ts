// The views, in the order of the navigation; the digit keys of the first nine follow it.

import type { ComponentType } from "preact";
import { Collectives, Compile, Graphs, Phases, Regions, Serving, Threads } from "../views/answer/index.tsx";
import { Code } from "../views/code/index.tsx";
import { Compare } from "../views/compare/index.tsx";
import { Diagnosis } from "../views/diagnosis/index.tsx";
import { Flame } from "../views/flame/index.tsx";
import { Functions } from "../views/functions/index.tsx";
import { History } from "../views/history/index.tsx";
import { Hlo } from "../views/hlo/index.tsx";
import { Kernels } from "../views/kernels/index.tsx";
import { Lines } from "../views/lines/index.tsx";
import { Memory } from "../views/memory/index.tsx";
import { Modules } from "../views/modules/index.tsx";
import { Operators } from "../views/operators/index.tsx";
import { Overview } from "../views/overview/index.tsx";
import { Service } from "../views/production/index.tsx";
import { Source } from "../views/source/index.tsx";
import { Timeline } from "../views/timeline/index.tsx";

export interface View {
  id: string;
  name: string;
  component: ComponentType;
  /** Fills the window instead of scrolling as a page. */
  full?: boolean;
  /** Reached from other pages only. */
  hidden?: boolean;
}

/** The digit that opens the view at a place of the list, if one is left: 0 shows the whole timeline. */
export function digitOf(at: number): number | undefined {
  return at < 9 ? at + 1 : undefined;
}

export const VIEWS: View[] = [
  { id: "overview", name: "Overview", component: Overview },
  { id: "timeline", name: "Timeline", component: Timeline, full: true },
  { id: "operators", name: "Operators", component: Operators, full: true },
  { id: "kernels", name: "Kernels", component: Kernels, full: true },
  { id: "flame", name: "Flame graph", component: Flame },
  { id: "memory", name: "Memory", component: Memory },
  { id: "modules", name: "Modules", component: Modules },
  { id: "diagnosis", name: "Diagnosis", component: Diagnosis },
  { id: "compare", name: "Compare", component: Compare },
  { id: "functions", name: "Functions", component: Functions, full: true },
  { id: "lines", name: "Lines", component: Lines, full: true },
  { id: "code", name: "Code", component: Code, full: true },
  { id: "hlo", name: "HLO", component: Hlo, full: true },
  { id: "threads", name: "Threads", component: Threads },
  { id: "regions", name: "Regions", component: Regions },
  { id: "phases", name: "Phases", component: Phases },
  { id: "collectives", name: "Collectives", component: Collectives },
  { id: "serving", name: "Serving", component: Serving },
  { id: "graphs", name: "CUDA graphs", component: Graphs },
  { id: "compile", name: "Compiled code", component: Compile },
  { id: "history", name: "History", component: History },
  { id: "service", name: "Service", component: Service },
  { id: "source", name: "Source", component: Source, full: true, hidden: true },
];

/** Views that show something without a run. */
export const WITHOUT_RUN: ReadonlySet<string> = new Set(["history", "service"]);

/** Where the navigation shows a view, if it is not where the list has it: after this one. */
const AFTER: Record<string, string> = {
  functions: "kernels",
  lines: "functions",
  code: "lines",
  hlo: "kernels",
  threads: "code",
  regions: "modules",
  phases: "regions",
  collectives: "phases",
  serving: "collectives",
  graphs: "serving",
  compile: "graphs",
  history: "compare",
};

/** The navigation: views that have something to show, and the one that is looked at. Before that is known, those of the digit
    keys. */
export function navigation(pages: readonly string[] | undefined, current: string | undefined): View[] {
  const order: View[] = VIEWS.filter((view) => AFTER[view.id] === undefined && view.id !== "service");
  // What runs now comes before what was recorded.
  order.unshift(...VIEWS.filter((view) => view.id === "service"));
  for (const view of VIEWS) {
    const after = AFTER[view.id];
    if (after !== undefined) order.splice(order.findIndex((other) => other.id === after) + 1, 0, view);
  }
  const isThere = (view: View) =>
    pages ? pages.includes(view.id) : digitOf(VIEWS.indexOf(view)) !== undefined;
  return order.filter((view) => !view.hidden && (isThere(view) || view.id === current));
}
