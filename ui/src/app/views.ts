// The views, in the order of the navigation: what runs now comes before what was recorded.

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
  /** The key that opens it: 0 shows the whole timeline. */
  digit?: number;
  component: ComponentType;
  /** Fills the window instead of scrolling as a page. */
  full?: boolean;
  /** Reached from other pages only. */
  hidden?: boolean;
}

export const VIEWS: View[] = [
  { id: "service", name: "Service", component: Service },
  { id: "overview", name: "Overview", digit: 1, component: Overview },
  { id: "timeline", name: "Timeline", digit: 2, component: Timeline, full: true },
  { id: "operators", name: "Operators", digit: 3, component: Operators, full: true },
  { id: "kernels", name: "Kernels", digit: 4, component: Kernels, full: true },
  { id: "hlo", name: "HLO", component: Hlo, full: true },
  { id: "functions", name: "Functions", component: Functions, full: true },
  { id: "lines", name: "Lines", component: Lines, full: true },
  { id: "code", name: "Code", component: Code, full: true },
  { id: "threads", name: "Threads", component: Threads },
  { id: "flame", name: "Flame graph", digit: 5, component: Flame },
  { id: "memory", name: "Memory", digit: 6, component: Memory },
  { id: "modules", name: "Modules", digit: 7, component: Modules },
  { id: "regions", name: "Regions", component: Regions },
  { id: "phases", name: "Phases", component: Phases },
  { id: "collectives", name: "Collectives", component: Collectives },
  { id: "serving", name: "Serving", component: Serving },
  { id: "graphs", name: "CUDA graphs", component: Graphs },
  { id: "compile", name: "Compiled code", component: Compile },
  { id: "diagnosis", name: "Diagnosis", digit: 8, component: Diagnosis },
  { id: "compare", name: "Compare", digit: 9, component: Compare },
  { id: "history", name: "History", component: History },
  { id: "source", name: "Source", component: Source, full: true, hidden: true },
];

/** Views that show something without a run. */
export const WITHOUT_RUN: ReadonlySet<string> = new Set(["history", "service"]);

/** The navigation: views that have something to show, and the current one. Before that is known, those with a digit. */
export function navigation(pages: readonly string[] | undefined, current: string | undefined): View[] {
  const isThere = (view: View) => (pages ? pages.includes(view.id) : view.digit !== undefined);
  return VIEWS.filter((view) => !view.hidden && (isThere(view) || view.id === current));
}
