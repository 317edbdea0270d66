// Why it is slow, question by question: what a change would save, why the device waits, how well it is used.

import type { ComponentType } from "preact";
import { register } from "../../session/commands.ts";
import { go, param, pushParams } from "../../session/route.ts";
import { Idle } from "./idle/index.tsx";
import { Launches } from "./launches.tsx";
import { LoadingTab } from "./loading.tsx";
import { Path } from "./path.tsx";
import { RooflineTab } from "./roofline/index.tsx";
import { NoSteps, Scope, useScope } from "./scope.tsx";
import "./style.css";
import type { Account } from "./answers.ts";
import { type Tab, Tabs } from "./tabs.tsx";
import { Transfers } from "./transfers.tsx";
import { WaitsTab } from "./waits.tsx";
import { WhatIfTab } from "./whatif/index.tsx";

interface Page extends Tab {
  component: ComponentType<{ account: Account | undefined }>;
  /** Whether its figures are of one device at a time. */
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
      <div class="diag-head">
        <Tabs
          label="Diagnosis"
          tabs={PAGES}
          shown={page.id}
          onShow={(tab) => pushParams({ tab, row: undefined })}
        />
        <Scope account={scope.data} withDevice={page.device} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the panel of a tab takes the focus */}
      <div class="diag-panel" id="diag-panel" role="tabpanel" aria-labelledby={`tab-${page.id}`} tabIndex={0}>
        {scope.data?.synthetic && <NoSteps />}
        <Shown account={scope.data} key={page.id} />
      </div>
    </>
  );
}
