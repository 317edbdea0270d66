// What the server says about a service that is watched: its dashboard over a period.

import type { CounterSeries } from "./wire.ts";

export type {
  CounterSeries,
  Exemplar,
  HeatMap,
  KeptSpan,
  RouteRow,
  ServiceConcern,
  ServiceDashboard,
  ServiceEvent,
  ServiceTone,
  Summary,
  TargetSeries,
} from "./wire.ts";

/** Percents are from 0 to 100, and of one core where they are of processors. */
export type CounterUnit = CounterSeries["unit"];

/** Which part of a service's time is asked for: the last so long, or from one minute until another. */
export interface ServiceQuery {
  last?: string | undefined;
  from?: number | undefined;
  until?: number | undefined;
  route?: string | undefined;
}
