// The views, in the order of the navigation; the digit keys of the first nine follow it.

import type { ComponentType } from "preact";
import { Compare } from "../views/compare/index.tsx";
import { Diagnosis } from "../views/diagnosis/index.tsx";
import { Flame } from "../views/flame/index.tsx";
import { Kernels } from "../views/kernels/index.tsx";
import { Memory } from "../views/memory/index.tsx";
import { Modules } from "../views/modules/index.tsx";
import { Operators } from "../views/operators/index.tsx";
import { Overview } from "../views/overview/index.tsx";
import { Timeline } from "../views/timeline/index.tsx";

export interface View {
  id: string;
  name: string;
  component: ComponentType;
  /** Fills the window instead of scrolling as a page. */
  full?: boolean;
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
];
