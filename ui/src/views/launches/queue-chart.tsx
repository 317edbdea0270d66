// How much work was queued, over time.

import { useRef, useState } from "preact/hooks";
import type { StepSpan, StepsAnswer } from "../../data/account.ts";
import type { Counter } from "../../data/types.ts";
import { Axes, LEFT_PX } from "../../parts/charts/axis.tsx";
import { count, time } from "../../parts/format.ts";
import { scoped } from "../../parts/scope.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { useSize } from "../../parts/use-size.ts";
import { runId, source } from "../../session/state.ts";
import { useAsk, useLoaded } from "../../session/use-ask.ts";
import { indexAt, queueOf, stairs } from "./queue.ts";

const HEIGHT_PX = 140;
/** As many as a wide screen has pixels for. */
const MAX_BUCKETS = 1600;

export function QueueChart(props: { device: number | null; text: string | undefined; named: boolean }) {
  const steps = useAsk<StepsAnswer>("steps", scoped(false));
  const spans = steps.data?.steps ?? [];
  const from = Math.min(...spans.map((s) => s.start_ns));
  const to = Math.max(...spans.map((s) => s.start_ns + s.wall_ns));
  const run = runId.value;
  const key = run === undefined || !(to > from) ? undefined : JSON.stringify([run, from, to]);
  const counters = useLoaded(key, (signal) => source.counters(run ?? 0, from, to, MAX_BUCKETS, signal));
  const [said, say] = useState<string>();
  return (
    <Card
      title={`Queue depth over the run${props.named ? `, device ${props.device}` : ""}`}
      text={props.text}
      note={said ?? "dark: minimum, light: maximum"}
    >
      <Await of={counters}>
        {(list) => {
          const queue = queueOf(list, props.device);
          return queue && queue.t.length > 0 ? (
            <Drawn queue={queue} from={from} to={to} steps={spans} say={say} />
          ) : (
            <p class="quiet">Nothing was queued in these steps.</p>
          );
        }}
      </Await>
    </Card>
  );
}

function Drawn(props: {
  queue: Counter;
  from: number;
  to: number;
  steps: StepSpan[];
  say: (text: string | undefined) => void;
}) {
  const { queue, from, to, steps } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(0, useSize(box).width - LEFT_PX);
  const [at, setAt] = useState<number>();
  const top = queue.hi.reduce((a, b) => Math.max(a, b), 1);
  const frame = { from, to, width, height: HEIGHT_PX, top };
  const point = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT_PX;
    const inside = x >= 0 && x <= width;
    setAt(inside ? x : undefined);
    const moment = from + (x / Math.max(1, width)) * (to - from);
    const index = indexAt(queue.t, moment);
    const low = queue.lo[index] ?? 0;
    const high = queue.hi[index] ?? 0;
    const much = low === high ? count(high) : `${count(low)} to ${count(high)}`;
    props.say(inside ? `${time(moment)}: ${much} queued` : undefined);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer only reads values off the chart
    <div
      class="chart-box"
      ref={box}
      onMouseMove={point}
      onMouseLeave={() => {
        setAt(undefined);
        props.say(undefined);
      }}
    >
      {width > 0 && (
        <Axes
          name={`Work launched but not started, over time; ${count(top)} at peak`}
          {...frame}
          label={count}
          marks={steps.map((s) => s.start_ns)}
        >
          <path class="fill-0 pale" d={stairs(queue.t, queue.hi, frame)} />
          <path class="fill-0" d={stairs(queue.t, queue.lo, frame)} />
          {at !== undefined && <rect class="cursor" x={at} width={1} y={0} height={HEIGHT_PX} />}
        </Axes>
      )}
    </div>
  );
}
