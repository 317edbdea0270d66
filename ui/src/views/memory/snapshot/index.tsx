// The memory of a GPU as an allocator's snapshot tells it: every allocation over time, and what lay where at a moment.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { AllocationDetails, MemoryAbout, MemoryDevice } from "../../../data/types.ts";
import { Choice } from "../../../parts/choice.tsx";
import { bytes, count, many, time } from "../../../parts/format.ts";
import { Await, Card, Empty } from "../../../parts/states.tsx";
import { numberParam, param, setParams } from "../../../session/route.ts";
import { runId, source } from "../../../session/state.ts";
import { useLoaded } from "../../../session/use-ask.ts";
import { Chart } from "./chart.tsx";
import { Details } from "./details.tsx";
import { Leaks } from "./leaks.tsx";
import { type Axis, Model, type Stacked } from "./model.ts";
import { Moment } from "./moment.tsx";
import { OutOfMemory } from "./out-of-memory.tsx";
import "./style.css";

export function SnapshotMemory() {
  const run = runId.value;
  const key = run === undefined ? undefined : `memory-about-${run}`;
  const about = useLoaded(key, (signal) => source.memoryAbout(run ?? 0, signal));
  return (
    <Await of={about}>
      {(data) =>
        data.devices.length === 0 ? (
          <Empty
            title="No memory in this snapshot."
            hint="Record the history before the program allocates:"
            code={
              'torch.cuda.memory._record_memory_history()\ntrain()\ntorch.cuda.memory._dump_snapshot("snapshot.pickle")'
            }
          />
        ) : (
          <Loaded about={data} run={run ?? 0} />
        )
      }
    </Await>
  );
}

/** What a device is called. */
function deviceName(device: number): string {
  return device < 0 ? "Host (pinned)" : `GPU ${device}`;
}

function title(device: number): string {
  return device < 0 ? "Pinned memory of the host" : `Memory of ${deviceName(device)}`;
}

function stackedOf(text: string | undefined): Stacked {
  if (text === "segments") return { of: "segments" };
  return text === undefined ? { of: "allocations" } : { of: "pool", pool: text };
}

function Loaded({ about, run }: { about: MemoryAbout; run: number }) {
  const asked = numberParam("on");
  const device = about.devices.find((one) => one.device === asked) ?? about.devices[0]!;
  const hasTimes = device.duration_ns !== null && device.duration_ns > 0;
  const stack = param("stack");
  // A report has one picture of the segments.
  const canChoose = hasTimes && !(source.isReport && stack === "segments");
  const axis: Axis = param("axis") === "time" && canChoose ? "time" : "entry";
  const model = useMemo(
    () => new Model(source, run, device, axis, stackedOf(stack)),
    [run, device, axis, stack],
  );
  useWindow(model);
  const state = Math.min(device.states - 1, Math.max(0, numberParam("at") ?? device.peak_state));
  const chosen = numberParam("alloc");
  useEffect(() => {
    model.state.value = state;
    model.chosen.value = chosen;
  }, [model, state, chosen]);
  const of = model.stacked.of === "segments" ? "segments" : "allocations";
  const key = chosen === undefined ? undefined : JSON.stringify(["alloc", run, device.device, of, chosen]);
  const details = useLoaded(key, (signal) =>
    source.memoryAllocation(run, device.device, chosen ?? 0, of, signal),
  );
  const one = chosen === undefined || details.data?.id !== chosen ? undefined : details.data;
  useEffect(() => {
    model.life.value = one && lifeOf(one, model);
  }, [model, one]);
  const onChoose = (at: number, id: number | undefined) =>
    setParams({ at: at === device.peak_state ? undefined : at, alloc: id });
  return (
    <div class="mem snap">
      <OutOfMemory device={device} onState={(at) => onChoose(at, undefined)} />
      <Leaks device={device.device} />
      <Card title={title(device.device)} note={<Head about={about} device={device} />}>
        <Toolbar model={model} device={device} hasTimes={canChoose} />
        <Chart model={model} onChoose={onChoose} />
      </Card>
      {chosen !== undefined && (
        <Await of={details}>
          {(data) =>
            data.id === chosen ? (
              <Details
                details={data}
                of={of}
                definitions={about.definitions}
                onClose={() => setParams({ alloc: undefined })}
              />
            ) : null
          }
        </Await>
      )}
      <Moment
        run={run}
        device={device}
        state={state}
        definitions={about.definitions}
        onState={(at) => onChoose(at, undefined)}
        onAllocation={(id) => setParams({ alloc: id, stack: undefined })}
      />
    </div>
  );
}

/** Where an allocation lies on the axis. */
function lifeOf(one: AllocationDetails, { axis, extent }: Model): { from: number; to: number } {
  const from = axis === "time" ? one.start_ns : one.start_state;
  const to = axis === "time" ? one.end_ns : one.end_state;
  return { from: from ?? 0, to: to ?? extent.to };
}

/** The window is part of the URL once it has come to rest. */
function useWindow(model: Model): void {
  useEffect(() => {
    const text = param("window");
    const parts = text?.split("_").map(Number) ?? [];
    if (parts.length === 4 && parts.every(Number.isFinite)) {
      const [from = 0, to = 0, low = 0, high = 0] = parts;
      model.show({ from, to, low, high });
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    model.onWindow = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const { from, to, low, high } = model.window;
        const rounded = [from, to, low, high].map(Math.round).join("_");
        setParams({ window: model.isHome() ? undefined : rounded });
      }, 250);
    };
    return () => {
      clearTimeout(timer);
      model.close();
    };
  }, [model]);
}

function Head({ about, device }: { about: MemoryAbout; device: MemoryDevice }) {
  return (
    <span class="mem-head">
      <span>
        {many(device.allocations, "allocation")} in {many(device.states - 1, "event")}
        {device.duration_ns !== null && `, ${time(device.duration_ns)}`}; peak {bytes(device.peak_bytes)}
      </span>
      {about.devices.length > 1 && (
        <Choice
          label="Device"
          options={about.devices.map((one) => ({
            value: String(one.device),
            name: deviceName(one.device),
          }))}
          value={String(device.device)}
          onChange={(value) =>
            setParams({ on: value, at: undefined, alloc: undefined, window: undefined, stack: undefined })
          }
        />
      )}
      {about.device_count > about.devices.length && (
        <span>
          the first {about.devices.length} of {count(about.device_count)} devices
        </span>
      )}
    </span>
  );
}

const AXES: readonly { value: Axis; name: string; text: string }[] = [
  { value: "entry", name: "Events", text: "Every entry of the history has the same width." },
  { value: "time", name: "Time", text: "Time since the first entry of the history." },
];

function Toolbar(props: { model: Model; device: MemoryDevice; hasTimes: boolean }) {
  const { model, device, hasTimes } = props;
  const [color, setColor] = useState(model.colorBy.value);
  useEffect(() => {
    model.colorBy.value = color;
  }, [model, color]);
  const cleared = { window: undefined, alloc: undefined };
  const pools = source.isReport || device.pool_count < 2 ? [] : device.pools;
  const stacks = [
    { value: "", name: "Allocations" },
    {
      value: "segments",
      name: "Segments",
      text: "What the allocator took from the device, segment by segment.",
    },
    ...pools.slice(0, 6).map((pool) => ({
      value: pool,
      name: pool === "0.0" ? "Default pool" : `Pool ${pool}`,
      text: "Allocations in segments of this pool that were there when the snapshot was taken.",
    })),
  ];
  return (
    <div class="toolbar snap-toolbar">
      <Choice
        label="What is stacked"
        options={stacks}
        value={param("stack") ?? ""}
        onChange={(value) => setParams({ stack: value || undefined, ...cleared })}
      />
      {hasTimes && (
        <Choice
          label="Horizontal axis"
          options={AXES}
          value={model.axis}
          onChange={(value) => setParams({ axis: value === "entry" ? undefined : value, window: undefined })}
        />
      )}
      <Choice
        label="Color"
        options={[
          { value: "line", name: "By line", text: "A color per line of the program, the same in every file." },
          { value: "size", name: "By size", text: "The larger an allocation, the stronger its color." },
        ]}
        value={color}
        onChange={setColor}
      />
      <button type="button" disabled={model.atHome.value} onClick={() => model.show(model.home)}>
        Show all
      </button>
      <span class="quiet snap-hint">
        Drag to zoom, <kbd>W</kbd>
        <kbd>A</kbd>
        <kbd>S</kbd>
        <kbd>D</kbd> to move, click for {source.isReport ? "an allocation's stack" : "the state at that moment"}
      </span>
    </div>
  );
}
