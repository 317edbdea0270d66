// The timeline: every slice of the trace over time, by lane.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Layout } from "../../data/types.ts";
import { Empty, Trouble } from "../../parts/states.tsx";
import { param } from "../../session/route.ts";
import { runId, source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { Board, partsIn } from "./board.tsx";
import { Controller } from "./controller.ts";
import { Model } from "./model.ts";
import { Pane } from "./pane.tsx";
import { Toolbar } from "./toolbar.tsx";
import "./style.css";

const RECORD = `from torch.profiler import profile, ProfilerActivity

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    train_step()
    prof.step()
prof.export_chrome_trace("trace.json.gz")`;

export function Timeline() {
  const run = runId.value;
  const layout = useLoaded(run === undefined ? undefined : `layout-${run}`, () => source.layout(run ?? 0));
  const { data, problem } = layout;
  if (data?.rows.some((row) => row.count > 0)) return <Drawn layout={data} run={run ?? 0} />;
  if (problem)
    return (
      <div class="page">
        <Trouble problem={problem} />
      </div>
    );
  if (!data) return <div class="tl-wait" aria-busy="true" />;
  return (
    <Empty
      title="Nothing to draw in this trace."
      hint="It contains no slices. Record at least one step:"
      code={RECORD}
    />
  );
}

function Drawn({ layout, run }: { layout: Layout; run: number }) {
  const model = useMemo(() => new Model(run, source, layout), [run, layout]);
  const root = useRef<HTMLDivElement>(null);
  const [controller, setBoard] = useState<Controller>();
  useEffect(() => {
    if (!root.current) return;
    const made = new Controller(model, partsIn(root.current), {
      gpu: param("gl") !== "0",
      focusSearch: () => root.current?.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
    });
    setBoard(made);
    return () => {
      setBoard(undefined);
      made.close();
    };
  }, [model]);
  return (
    <div class="tl" ref={root}>
      <Toolbar model={model} controller={controller} />
      <div class="tl-minimap">
        <span class="tl-minimap-label quiet">whole trace</span>
        <canvas data-part="minimap" aria-label="The whole trace; the framed part is in view" />
      </div>
      <Board model={model} controller={controller} />
      {controller && <Pane model={model} controller={controller} />}
      <div class="sr-only" role="status" aria-live="polite">
        {model.announcement}
      </div>
    </div>
  );
}
