// Memory over time: how much is allocated and reserved, what was live at the peak, and what allocates it.

import { useEffect } from "preact/hooks";
import type { StepsAnswer } from "../../data/account.ts";
import type { Options } from "../../data/types.ts";
import type { DeviceMemory, InfoAnswer, MemoryAnswer, MemoryOfProfile } from "../../data/wire.ts";
import { Choice } from "../../parts/choice.tsx";
import { bytes } from "../../parts/format.ts";
import { Await, Card, Empty, Trouble } from "../../parts/states.tsx";
import { register } from "../../session/commands.ts";
import { numberParam, param, pushParams, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { Chart } from "./chart.tsx";
import { spanOf, spanOfSteps, stepsOf } from "./curve.ts";
import { LiveAtPeak } from "./live.tsx";
import { Metrics, Notes } from "./metrics.tsx";
import { Plan } from "./plan.tsx";
import { Process } from "./process.tsx";
import { RangeBar } from "./range-bar.tsx";
import { SnapshotMemory } from "./snapshot/index.tsx";
import "./style.css";
import type { Span } from "../../parts/span.ts";
import { Tables } from "./tables.tsx";

export function Memory() {
  const whole = useAsk<MemoryAnswer | MemoryOfProfile>("memory", { by: "op", top: 0 });
  return (
    <Await of={whole}>
      {(answer) =>
        "allocators" in answer ? (
          <SnapshotMemory />
        ) : "heap_lines" in answer ? (
          <Empty
            title="This profile has no memory over time."
            hint="The overview shows which lines hold the peak and what was left at the end."
          />
        ) : answer.devices.length === 0 ? (
          <div class="mem">
            <Process rows={answer.process} definitions={answer.definitions} />
            <PlanOf answer={answer} />
            {(answer.programs ?? []).length > 0 ? null : answer.process.length > 0 ? (
              <Empty
                title="No allocations in this trace."
                hint="To see which lines hold the memory, record the script with:"
                code="stepscope run --memory script.py"
              />
            ) : (
              <Empty
                title="No allocations in this trace."
                hint="Record with profile_memory=True:"
                code={
                  "with profile(activities=[…], profile_memory=True, record_shapes=True) as prof:\n    train()"
                }
              />
            )}
          </div>
        ) : (
          <Loaded whole={answer} />
        )
      }
    </Await>
  );
}

/** The device looked at: the one in the URL, else the accelerator with the highest peak. */
function chosenDevice(devices: DeviceMemory[]): DeviceMemory | undefined {
  const asked = param("on");
  const number = numberParam("device");
  const accelerators = devices.filter((d) => (d.device_id ?? -1) >= 0 && d.device_type !== 0);
  const highest = [...accelerators].sort((a, b) => b.peak_allocated_bytes - a.peak_allocated_bytes)[0];
  return (
    devices.find((d) => d.device === asked) ??
    accelerators.find((d) => d.device_id === number) ??
    highest ??
    devices[0]
  );
}

function select(span: Span | undefined): void {
  pushParams({ from: span?.from, to: span?.to, step: undefined });
}

function Loaded({ whole }: { whole: MemoryAnswer }) {
  const info = useAsk<InfoAnswer>("info");
  const stepsAsked = useAsk<StepsAnswer>("steps");
  // A run without steps is answered as one without a number.
  const steps = (stepsAsked.data?.steps ?? []).filter((s) => s.step >= 0);
  const { devices } = whole;
  const device = chosenDevice(devices);
  const lastMark = Math.max(1, ...devices.map((d) => d.curve.at(-1)?.at_ns ?? 0));
  const extent = Math.max(info.data?.info.last_ns ?? 0, lastMark);
  const [from, to, step] = [numberParam("from"), numberParam("to"), param("step")];
  const range = from === undefined || to === undefined ? undefined : spanOf(from, to, extent);
  const span = range ?? spanOfSteps(stepsOf(step, steps));
  const narrowed: Options = range ? { from: range.from, to: range.to } : { step };
  const isNarrow = range !== undefined || step !== undefined;
  const part = useAsk<MemoryAnswer>("memory", { by: "op", top: 0, ...narrowed }, isNarrow);
  useEffect(
    () =>
      register([
        {
          id: "memory-whole",
          name: "Show memory of the whole run",
          view: "memory",
          keys: ["Escape"],
          run: () => param("from") !== undefined && select(undefined),
        },
      ]),
    [],
  );

  const answer = isNarrow ? part.data : whole;
  if (!device) return null;
  const shown = answer?.devices.find((d) => d.device === device.device);
  const capacity =
    (device.device_id ?? -1) >= 0
      ? info.data?.info.devices.find((d) => d.index === device.device_id)?.total_memory_bytes
      : undefined;
  const toScale = param("scale") === "device" && capacity;
  return (
    <div class={`mem ${isNarrow && part.pending ? "waits" : ""}`}>
      <Card
        title={`Memory on ${device.device}`}
        note={<Head devices={devices} device={device} capacity={capacity ?? undefined} />}
      >
        {shown && <Metrics device={shown} capacity={capacity ?? undefined} definitions={answer?.definitions} />}
        <Legend device={device} />
        <Chart
          key={device.device}
          label={`Memory on ${device.device} over the whole run`}
          device={device}
          span={{ from: 0, to: extent }}
          extent={extent}
          steps={steps}
          selected={span}
          capacity={toScale || undefined}
          height={span ? 130 : 270}
          onSelect={select}
        />
        {span && shown && shown.curve.length > 0 && (
          <Chart
            key={`${device.device}-part`}
            label={`Memory on ${device.device} in the selected range`}
            device={shown}
            span={span}
            extent={extent}
            steps={steps}
            capacity={toScale || undefined}
            height={250}
            onSelect={(next) => select(next ?? undefined)}
          />
        )}
        <RangeBar span={span} extent={extent} steps={steps} onSelect={select} />
        {part.problem && isNarrow && <Trouble problem={part.problem} />}
        {shown && <Notes device={shown} definitions={answer?.definitions} />}
        {isNarrow && answer && !shown && (
          <Empty title={`No allocations on ${device.device} in this range.`} hint="Select a longer range." />
        )}
      </Card>
      <Process rows={whole.process} definitions={whole.definitions} />
      <PlanOf answer={whole} />
      {shown && <LiveAtPeak device={shown} definitions={answer?.definitions} />}
      {answer && (
        <Tables
          device={device.device}
          operators={answer.operators}
          definitions={answer.definitions}
          narrowed={narrowed}
        />
      )}
    </div>
  );
}

/** What the compiler planned, if programs tell. */
function PlanOf({ answer }: { answer: MemoryAnswer }) {
  const programs = answer.programs ?? [];
  if (programs.length === 0) return null;
  return <Plan programs={programs} buffers={answer.buffers ?? []} definitions={answer.definitions} />;
}

function Head(props: { devices: DeviceMemory[]; device: DeviceMemory; capacity: number | undefined }) {
  const { devices, device, capacity } = props;
  return (
    <span class="mem-head">
      {capacity !== undefined && (
        <label>
          <input
            type="checkbox"
            checked={param("scale") === "device"}
            onChange={(event) => setParams({ scale: event.currentTarget.checked ? "device" : undefined })}
          />
          scale to device memory ({bytes(capacity)})
        </label>
      )}
      {devices.length > 1 && (
        <Choice
          label="Device"
          options={devices.map((d) => ({ value: d.device, name: d.device }))}
          value={device.device}
          onChange={(on) => setParams({ on })}
        />
      )}
    </span>
  );
}

function Legend({ device }: { device: DeviceMemory }) {
  return (
    <ul class="legend mem-legend">
      <li>
        <span class="mem-key allocated" /> allocated
      </li>
      {(device.peak_reserved_bytes ?? 0) > 0 && (
        <li>
          <span class="mem-key reserved" /> reserved
        </li>
      )}
    </ul>
  );
}
