// The five numbers of the period, each with its change and its course.

import type { ServiceDashboard } from "../../data/production-types.ts";
import { MIN_ERROR_SHARE } from "../../data/wire.ts";
import { percent, time } from "../../parts/format.ts";
import { Defined, definition, labelOf } from "../../parts/metric.tsx";
import { perSecond } from "./board/frame.ts";
import { spanOf } from "./clock.ts";
import { Spark } from "./spark.tsx";
import { changeOf, rate, toneOf } from "./words.ts";

export function Tiles({ of }: { of: ServiceDashboard }) {
  const { total, total_before: before, series } = of;
  const rates = series.requests.map((many, at) => (many > 0 ? (series.errors[at] ?? 0) / many : null));
  const span = spanOf(of.until - of.from);
  const was = (text: string | undefined) => text && `before: ${text}`;
  const time_ns = (field: "p50_ns" | "p95_ns" | "p99_ns") => ({
    value: time(total[field]),
    change: changeOf(before?.[field], total[field]),
    tone: toneOf(before?.[field], total[field], of.changed_share),
    values: series[field],
    text: definition(of.definitions, "p95_ns"),
    color: `sv-${field.slice(0, 3)}`,
    note: was(before ? time(before[field]) : undefined),
  });
  const requests = perSecond(series.requests, of);
  return (
    <div class="sv-tiles" title={before ? `compared with the ${span} before` : undefined}>
      <Tile
        label={labelOf(of.definitions, "per_second")}
        value={rate(total.per_second)}
        change={changeOf(before?.per_second, total.per_second)}
        values={requests}
        color="sv-requests"
        text={definition(of.definitions, "per_second")}
        note={was(before ? rate(before.per_second) : undefined)}
      />
      <Tile
        label={labelOf(of.definitions, "error_rate")}
        value={percent(total.error_rate)}
        change={changeOf(before?.error_rate, total.error_rate)}
        tone={
          before && total.error_rate > MIN_ERROR_SHARE
            ? toneOf(Math.max(1e-9, before.error_rate), total.error_rate, of.changed_share)
            : ""
        }
        values={rates}
        color="sv-errors"
        text={definition(of.definitions, "error_rate")}
        note={was(before ? percent(before.error_rate) : undefined)}
      />
      <Tile label="p50" {...time_ns("p50_ns")} />
      <Tile label="p95" {...time_ns("p95_ns")} />
      <Tile label="p99" {...time_ns("p99_ns")} />
    </div>
  );
}

function Tile(props: {
  label: string;
  value: string;
  change: string | undefined;
  /** Whether it became better or worse; nothing if more is neither. */
  tone?: string;
  values: readonly (number | null)[];
  color: string;
  text: string | undefined;
  note: string | undefined;
}) {
  return (
    <div class="sv-tile">
      <div class="metric-label">
        <Defined text={props.text}>{props.label}</Defined>
      </div>
      <div class="sv-tile-value">
        {props.value}
        {props.change && <span class={`sv-change ${props.tone ?? ""}`}>{props.change}</span>}
      </div>
      <Spark values={props.values} color={props.color} width={200} height={26} />
      {props.note && <div class="sv-tile-note">{props.note}</div>}
    </div>
  );
}
