// Did it help? Two runs compared: the verdict, what made the difference, their stacks and their timelines.

import { useMemo } from "preact/hooks";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Tab, Tabs } from "../../parts/tabs.tsx";
import { runNames } from "../../session/names.ts";
import { param, pushParams, setParams } from "../../session/route.ts";
import { run, runs, source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { causeWords } from "./cause-words.ts";
import { ChangesCard } from "./changes-table.tsx";
import { FlameDiff } from "./flame-diff.tsx";
import { FindingsCard, MetricsCard } from "./metrics.tsx";
import { AllRuns } from "./side-by-side.tsx";
import { SidePicker } from "./side-picker.tsx";
import { MAX_RECORDINGS, sidesOf } from "./sides.ts";
import { Timelines } from "./timelines.tsx";
import { Verdict } from "./verdict.tsx";
import { WaterfallCard } from "./waterfall-chart.tsx";
import "./style.css";

const TABS: readonly Tab[] = [
  { id: "changes", name: "Changes" },
  { id: "flame", name: "Flame graph" },
  { id: "timelines", name: "Timelines" },
];
/** Where more than two runs are open. */
const ALL: Tab = { id: "all", name: "All runs" };

/** What belongs to the runs compared, and means nothing for others. */
const OF_RUNS = { open: undefined, zoom: undefined, stepa: undefined, stepb: undefined, win: undefined };

export function Compare() {
  const all = runs.value?.runs ?? [];
  const names = runNames(all);
  const known = all.map((one) => one.id);
  const isReport = source.isReport;
  const sides = all.length < 2 ? undefined : sidesOf(param("a"), param("b"), known, run.value?.id);
  if (!sides) return <OneRun isReport={isReport} />;
  const [a, b] = sides;
  const set = (before: readonly number[], after: readonly number[]) =>
    setParams({ ...OF_RUNS, a: before.join(), b: after.join() });
  const shared = { runs: all, names, fixed: isReport };
  return (
    <>
      <div class="toolbar compare-runs">
        <SidePicker {...shared} label="Before (A)" side={a} other={b} onChange={(side) => set(side, b)} />
        <SidePicker {...shared} label="After (B)" side={b} other={a} onChange={(side) => set(a, side)} />
        <button type="button" onClick={() => set(b, a)}>
          Swap
        </button>
      </div>
      <Compared a={a} b={b} others={isReport ? [] : known.filter((id) => !a.includes(id) && !b.includes(id))} />
    </>
  );
}

interface Sides {
  a: readonly number[];
  b: readonly number[];
  /** The runs on neither side. */
  others: readonly number[];
}

function Compared({ a, b, others }: Sides) {
  const device = param("device");
  const key = JSON.stringify(["diff", a, b, device]);
  const diff = useLoaded(key, (signal) => source.diff(a, b, { top: 0, device }, signal));
  const words = useMemo(() => causeWords(diff.data?.causes ?? []), [diff.data]);
  const asked = param("tab");
  const tabs = others.length > 0 ? [...TABS, ALL] : TABS;
  const tab = tabs.find((one) => one.id === asked)?.id ?? "changes";
  // Of several recordings of a side, the first is drawn.
  const [before, after] = [a[0] ?? 0, b[0] ?? 0];
  const drawn = a.length + b.length > 2 && (tab === "flame" || tab === "timelines");
  return (
    <Await of={diff}>
      {(of) => (
        <div class="compare-page">
          <Verdict of={of} brief={tab !== "changes"} />
          <div class="compare-tabs">
            <Tabs
              label="Comparison"
              tabs={tabs}
              shown={tab}
              panel="compare-panel"
              onShow={(id) => pushParams({ tab: id === "changes" ? undefined : id })}
            />
          </div>
          <div
            class="compare-panel"
            id="compare-panel"
            role="tabpanel"
            aria-labelledby={`tab-${tab}`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: the panel of a tab takes the focus
            tabIndex={0}
          >
            {drawn && <p class="quiet small">Of several recordings, the first of each side is drawn.</p>}
            {tab === "changes" && (
              <>
                <WaterfallCard of={of} words={words} />
                <ChangesCard of={of} words={words} a={before} b={after} />
                <div class="two-columns even">
                  <MetricsCard of={of} />
                  <FindingsCard of={of} />
                </div>
              </>
            )}
            {tab === "flame" && <FlameDiff a={before} b={after} />}
            {tab === "timelines" && <Timelines a={before} b={after} />}
            {tab === "all" && <AllRuns runs={[before, after, ...others].slice(0, MAX_RECORDINGS)} />}
          </div>
        </div>
      )}
    </Await>
  );
}

function OneRun({ isReport }: { isReport: boolean }) {
  return (
    <Card title="Compare two runs">
      <Empty
        title={isReport ? "A report holds one run." : "Only one run is open."}
        hint={
          isReport
            ? "A report of two runs is written by:"
            : "Open two traces, or a folder of traces, to compare them:"
        }
        code={
          isReport
            ? "stepscope diff before.pt.trace.json.gz after.pt.trace.json.gz --html report.html"
            : "stepscope view before.pt.trace.json.gz after.pt.trace.json.gz"
        }
      />
    </Card>
  );
}
