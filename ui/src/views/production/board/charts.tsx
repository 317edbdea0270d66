// The charts of the board, from what users notice down to what the machine did.

import type { CounterSeries, ServiceDashboard } from "../../../data/production-types.ts";
import { FAST_BURN_TIMES, SLOW_BURN_TIMES } from "../../../data/wire.ts";
import { roundLabel, ticksAround } from "../../../parts/charts/ticks.ts";
import { Choice } from "../../../parts/choice.tsx";
import { about, percent, time } from "../../../parts/format.ts";
import { definition } from "../../../parts/metric.tsx";
import { Empty } from "../../../parts/states.tsx";
import { param, setParams } from "../../../session/route.ts";
import { counterText, known, rate } from "../words.ts";
import type { ServiceEvent } from "./events.ts";
import { type Frame, perSecond, stackOf, stepArea } from "./frame.ts";
import { highest, Lines } from "./lines.tsx";
import { PERCENTILES } from "./percentiles.ts";
import { Strip } from "./strip.tsx";

/** Colors for what has no meaning of its own; the ninth begins anew. */
const COLOR_COUNT = 9;
export const colorAt = (at: number) => `sv-c${at % COLOR_COUNT}`;

interface Props {
  frame: Frame;
  events: readonly ServiceEvent[];
}

export function Charts(props: Props) {
  const { of } = props.frame;
  const requests = perSecond(of.series.requests, of);
  const errors = perSecond(of.series.errors, of);
  const perPoint = (value: number) => `${rate(value)}/s`;
  if (of.total.requests === 0) return <Counters {...props} />;
  return (
    <>
      <Lines
        {...props}
        title="Percentiles"
        text={definition(of.definitions, "p95_ns")}
        height={110}
        format={time}
        label={roundLabel(time)}
        lines={PERCENTILES.map(({ field, ...line }) => ({ ...line, values: of.series[field] }))}
        whole={(line) => time(of.total[PERCENTILES.find((one) => one.label === line.label)?.field ?? "p95_ns"])}
      />
      <Lines
        {...props}
        title="Requests per second"
        text={definition(of.definitions, "per_second")}
        height={64}
        format={perPoint}
        label={rate}
        filled
        lines={[{ label: "requests", color: "sv-requests", values: requests }]}
        whole={() => perPoint(of.total.per_second)}
      />
      {of.total.errors > 0 && (
        <Lines
          {...props}
          title="Errors per second"
          text={definition(of.definitions, "error_rate")}
          height={44}
          format={perPoint}
          label={rate}
          filled
          lines={[{ label: "errors", color: "sv-errors", values: errors }]}
          whole={() => `${percent(of.total.error_rate)} of requests`}
        />
      )}
      <Regions {...props} />
      <Burns {...props} />
      <Counters {...props} />
    </>
  );
}

function Regions({ frame, events }: Props) {
  const { of } = frame;
  const named = of.regions.filter((one) => !one.name.startsWith("("));
  if (named.length === 0)
    return (
      <Teach
        title="Regions"
        empty="No regions are marked inside the requests."
        hint="They show which part of a request takes the time:"
        code={
          'with monitor.request("/predict") as request:\n    with request.region("inference"):\n        ...'
        }
      />
    );
  const as = param("regions") === "share" ? "share" : "time";
  const stack = stackOf(of, as);
  const format = as === "share" ? percent : time;
  const height = 120;
  const ticks = as === "share" ? [0, 0.5, 1] : ticksAround(highest(stack[stack.length - 1]?.high ?? []), 4);
  const top = ticks[ticks.length - 1] || 1;
  const y = (value: number) => height - (value / top) * height;
  const value = (region: number, at: number | undefined) => {
    const { time_ns, share } = of.regions[region]!;
    if (at === undefined)
      return as === "share"
        ? percent(share)
        : time(time_ns.reduce((a, b) => a + b, 0) / Math.max(1, of.total.requests));
    const { low, high } = stack[region]!;
    return high[at] == null ? "–" : format(high[at] - (low[at] ?? 0));
  };
  // Upwards as they lie on each other would read from below: the legend goes with the list.
  return (
    <Strip
      title={as === "share" ? "Share of time by region" : "Time per request by region"}
      text={definition(of.definitions, "self_ns")}
      {...{ frame, events, height, ticks, y }}
      label={roundLabel(format)}
      name={`Time of requests by region over time: ${of.regions.map((one) => `${one.name} ${percent(one.share)}`).join(", ")}. The same numbers are in the table.`}
      entries={of.regions.map((one, at) => ({
        label: one.name,
        color: regionColor(one.name, at),
        value: (point) => value(at, point),
      }))}
      aside={
        <Choice
          label="What is stacked"
          value={as}
          options={[
            { value: "time", name: "Time" },
            { value: "share", name: "Share" },
          ]}
          onChange={(next) => setParams({ regions: next === "share" ? next : undefined })}
        />
      }
    >
      {stack.map(({ low, high }, at) => (
        <g key={at} class={regionColor(of.regions[at]?.name ?? "", at)}>
          <path class="sv-area" d={stepArea(low, high, frame, y)} />
        </g>
      ))}
    </Strip>
  );
}

/** Time outside regions has no color of its own. */
export function regionColor(name: string, at: number): string {
  return name.startsWith("(") ? "sv-rest" : colorAt(at);
}

/** Rates from which a budget is used up too fast; see the definition of the burn rate. */
const THRESHOLDS = [SLOW_BURN_TIMES, FAST_BURN_TIMES];

function Burns(props: Props) {
  const { of } = props.frame;
  const lines = of.targets.map((one, at) => ({
    label: `${one.route} ${one.target}`,
    color: colorAt(at),
    values: one.burn_over_time,
  }));
  if (lines.length === 0) return null;
  const most = Math.max(20, ...lines.map((line) => highest(line.values)));
  const scale = (value: number) => Math.log1p(value) / Math.log1p(most);
  return (
    <Lines
      {...props}
      title="Burn rate of error budgets"
      text={definition(of.definitions, "rate")}
      height={84}
      format={(value) => value.toFixed(1)}
      label={(value) => String(value)}
      ticks={[0, 1, ...THRESHOLDS, ...(most > 60 ? [100] : [])]}
      {...{ lines, scale, top: most }}
      thresholds={THRESHOLDS}
    />
  );
}

/** Counters of one name, a line per device. */
function byName(counters: readonly CounterSeries[]): CounterSeries[][] {
  const groups = new Map<string, CounterSeries[]>();
  for (const one of counters) {
    const key = `${one.name} ${one.unit}`;
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()].filter((group) =>
    group.some((one) => one.values.some((value) => value !== null)),
  );
}

/** More lines cannot be distinguished. */
const MAX_LINES = 8;

function Counters(props: Props) {
  const groups = byName(props.frame.of.counters);
  if (groups.length === 0)
    return (
      <Teach
        title="Machine and GPU"
        empty="No counters of the machine were recorded."
        hint="This records them, next to the service:"
        code="stepscope monitor --pid PID -o service"
      />
    );
  return (
    <>
      {groups.map((group) => {
        const { name, unit } = group[0]!;
        const values = group.flatMap((one) => one.values);
        const most = highest(values);
        // Below that a share would be a line at the bottom; above it counts several cores.
        const top = unit === "percent" && most > 40 && most <= 100 ? 100 : undefined;
        const text = (value: number) => counterText(value, unit);
        const more = group.length - MAX_LINES;
        return (
          <Lines
            key={`${name} ${unit}`}
            {...props}
            {...(unit.startsWith("bytes") ? byteScale(most) : { top })}
            title={name.charAt(0).toUpperCase() + name.slice(1)}
            height={44}
            format={text}
            label={roundLabel(text)}
            lines={group.slice(0, MAX_LINES).map((one, at) => ({
              label: one.device ?? (group.length > 1 ? "machine" : ""),
              color: group.length > 1 ? colorAt(at) : "sv-counter",
              values: one.values,
            }))}
            aside={more > 0 && <span class="quiet">and {more} more</span>}
          />
        );
      })}
    </>
  );
}

/** Sizes have round steps of their own. */
function byteScale(most: number): { top: number; ticks: number[] } {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, most) / 2) - 1e-9));
  const top = Math.ceil(most / step - 1e-9) * step || 1;
  return { top, ticks: [0, step, 2 * step].filter((tick) => tick <= top) };
}

/** A chart that has nothing to draw says what to do. */
export function Teach(props: { title: string; empty: string; hint: string; code?: string }) {
  return (
    <section class="sv-strip" aria-label={props.title}>
      <header class="sv-strip-head">
        <h3>{props.title}</h3>
      </header>
      <Empty title={props.empty} hint={props.hint} {...(props.code ? { code: props.code } : {})} />
    </section>
  );
}

/** What the cursor's place is, for those who cannot see it. */
export function pointWords(of: ServiceDashboard, at: number): string {
  const { requests, errors, p50_ns, p95_ns } = of.series;
  if (!requests[at]) return "no requests";
  return `${rate(perSecond(requests, of)[at] ?? 0)} requests per second, ${errors[at] ?? 0} errors, p50 ${known(p50_ns[at], about)}, p95 ${known(p95_ns[at], about)}`;
}
