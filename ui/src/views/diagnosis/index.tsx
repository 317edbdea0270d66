// Why it is slow, question by question: what a change would save, why the device waits, how well it is used.

import type { ComponentType } from "preact";
import { NoSteps, Scope, useScope } from "../../parts/scope.tsx";
import { type Tab, Tabs } from "../../parts/tabs.tsx";
import { register } from "../../session/commands.ts";
import { go, param, pushParams } from "../../session/route.ts";
import { Path } from "../critical-path/index.tsx";
import { LoadingTab } from "../data-loading/index.tsx";
import { Idle } from "../idle/index.tsx";
import { Launches } from "../launches/index.tsx";
import { RooflineTab } from "../roofline/index.tsx";
import "./style.css";
import type { Account } from "../../data/account.ts";
import { Transfers } from "../transfers/index.tsx";
import { WaitsTab } from "../waits/index.tsx";
import { WhatIfTab } from "../what-if/index.tsx";

interface Page extends Tab {
  component: ComponentType<{ account: Account | undefined }>;
  /** Whether its numbers are of one device at a time. */
  device: boolean;
}

const PAGES: readonly Page[] = [
  { id: "what-if", name: "What if", component: WhatIfTab, device: false },
  { id: "idle", name: "Idle", component: Idle, device: true },
  { id: "launches", name: "Launches", component: Launches, device: true },
  { id: "waits", name: "Waits", component: WaitsTab, device: false },
  { id: "transfers", name: "Transfers", component: Transfers, device: true },
  { id: "loading", name: "Data loading", component: LoadingTab, device: false },
  { id: "roofline", name: "Roofline", component: RooflineTab, device: true },
  { id: "path", name: "Critical path", component: Path, device: false },
];

/** Commands are found by their own names, too. */
const ALIASES: Record<string, string> = { gaps: "idle", "critical-path": "path" };

register(
  PAGES.map((page) => ({
    id: `diagnosis-${page.id}`,
    name: `Diagnosis: ${page.name}`,
    run: () => go("diagnosis", { tab: page.id }),
  })),
);

export function Diagnosis() {
  const asked = param("tab") ?? "what-if";
  const page = PAGES.find((p) => p.id === (ALIASES[asked] ?? asked)) ?? PAGES[0]!;
  const scope = useScope();
  const Shown = page.component;
  return (
    <>
      <div class="diagnosis-head">
        <Tabs
          label="Diagnosis"
          tabs={PAGES}
          shown={page.id}
          panel="diagnosis-panel"
          onShow={(tab) => pushParams({ tab, row: undefined })}
        />
        <Scope account={scope.data} withDevice={page.device} />
      </div>
      <div
        class="diagnosis-panel"
        id="diagnosis-panel"
        role="tabpanel"
        aria-labelledby={`tab-${page.id}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the panel of a tab takes the focus
        tabIndex={0}
      >
        {scope.data?.synthetic && <NoSteps />}
        <Shown account={scope.data} key={page.id} />
      </div>
    </>
  );
}
