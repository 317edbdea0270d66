// A service that was never there: a week of requests with a daily rhythm, a slowdown of one region, a burst of errors, a
// restart, and the counters of its machine. Worked out anew for each question, the same every time.

import type {
  Exemplar,
  KeptSpan,
  RouteRow,
  ServiceConcern,
  ServiceDashboard,
  ServiceEvent,
  ServiceQuery,
  Summary,
} from "../../src/data/production-types.ts";

/** Tuesday, November 17, 2026, 03:00 UTC. */
export const NOW = Date.UTC(2026, 10, 17, 3) / 60_000;
/** When inference became slow, errors came, and the service was restarted. */
export const SLOW_AT = NOW - 53;
export const ERRORS_AT = NOW - 190;
export const RESTART_AT = NOW - 262;
const FIRST = NOW - 7 * 1440;

const LASTS: Record<string, number> = { "1h": 60, "6h": 360, "24h": 1440, "7d": 10_080, "30d": 43_200 };

interface RouteModel {
  route: string;
  /** Requests per second at noon. */
  rate: number;
  regions: [name: string, ns: number][];
  outside: number;
  errors: number;
}

const MS = 1e6;
const ROUTES: RouteModel[] = [
  {
    route: "/predict",
    rate: 42,
    regions: [
      ["inference", 31 * MS],
      ["preprocess", 6 * MS],
      ["postprocess", 2 * MS],
    ],
    outside: 1.2 * MS,
    errors: 0.0008,
  },
  {
    route: "/embed",
    rate: 18,
    regions: [
      ["inference", 9 * MS],
      ["tokenize", 1.5 * MS],
    ],
    outside: 0.6 * MS,
    errors: 0.0003,
  },
  {
    route: "/generate",
    rate: 1.4,
    regions: [
      ["inference", 820 * MS],
      ["tokenize", 4 * MS],
      ["queue", 60 * MS],
    ],
    outside: 5 * MS,
    errors: 0.002,
  },
  { route: "/health", rate: 2, regions: [], outside: 0.18 * MS, errors: 0 },
];

/** The same number from 0 to 1 for the same numbers. */
function chance(...seeds: number[]): number {
  let h = 2_166_136_261;
  for (const seed of seeds) h = Math.imul(h ^ (seed | 0), 16_777_619);
  h ^= h >>> 15;
  h = Math.imul(h, 2_246_822_519);
  h ^= h >>> 13;
  return (h >>> 0) / 4_294_967_296;
}

/** About normal, around 0. */
function wobble(...seeds: number[]): number {
  return (chance(1, ...seeds) + chance(2, ...seeds) + chance(3, ...seeds) - 1.5) * 1.15;
}

function rhythm(minute: number): number {
  const hour = (minute % 1440) / 60;
  return 0.62 + 0.38 * Math.sin(((hour - 9) / 24) * 2 * Math.PI);
}

const isDown = (minute: number) => minute >= RESTART_AT && minute < RESTART_AT + 6;
const isSlow = (minute: number) => minute >= SLOW_AT;
const hasErrors = (minute: number) => minute >= ERRORS_AT && minute < ERRORS_AT + 14;

/** How much longer inference takes at a minute. */
function slowdown(route: string, minute: number): number {
  if (!isSlow(minute)) return 1;
  return route === "/predict" ? 3.1 : route === "/embed" ? 1.03 : 1.04;
}

interface Point {
  requests: number;
  errors: number;
  /** Own time per request, by region; outside last. */
  parts: Map<string, number>;
  median: number;
  spread: number;
}

function pointOf(model: RouteModel, at: number, from: number, minutes: number): Point {
  let requests = 0;
  let errors = 0;
  const parts = new Map<string, number>();
  const many = Math.max(1, Math.min(minutes, 6));
  let slow = 0;
  for (let k = 0; k < many; k++) {
    const minute = Math.floor(from + (k * minutes) / many);
    if (minute < FIRST || minute >= NOW || isDown(minute)) continue;
    const load =
      model.rate * rhythm(minute) * (1 + 0.05 * wobble(minute, model.route.length)) * 60 * (minutes / many);
    requests += load;
    errors += load * (hasErrors(minute) && model.route === "/predict" ? 0.064 : model.errors);
    slow += (slowdown(model.route, minute) - 1) * load;
  }
  requests = Math.round(requests);
  const factor = requests > 0 ? 1 + slow / requests : 1;
  for (const [name, ns] of model.regions)
    parts.set(name, ns * (1 + 0.03 * wobble(at, name.length)) * (name === "inference" ? factor : 1));
  parts.set("(outside regions)", model.outside);
  const median = [...parts.values()].reduce((a, b) => a + b, 0);
  return { requests, errors: Math.round(errors), parts, median, spread: 0.28 + (factor > 1.2 ? 0.08 : 0) };
}

/** Of a log-normal latency. */
const quantile = ({ median, spread }: Point, z: number) => Math.round(median * Math.exp(spread * z));
const Z = { p50_ns: -0.03, p90_ns: 1.28, p95_ns: 1.645, p99_ns: 2.33, p999_ns: 3.09 };

function summaryOf(points: readonly Point[], minutes: number): Summary {
  const requests = points.reduce((sum, one) => sum + one.requests, 0);
  const errors = points.reduce((sum, one) => sum + one.errors, 0);
  const mean = (of: (one: Point) => number) =>
    requests > 0 ? Math.round(points.reduce((sum, one) => sum + of(one) * one.requests, 0) / requests) : 0;
  const at = (z: number) => mean((one) => quantile(one, z));
  return {
    requests,
    per_second: requests / (minutes * 60),
    errors,
    error_rate: requests > 0 ? errors / requests : 0,
    mean_ns: mean((one) => one.median),
    p50_ns: at(Z.p50_ns),
    p90_ns: at(Z.p90_ns),
    p95_ns: at(Z.p95_ns),
    p99_ns: at(Z.p99_ns),
    p999_ns: at(Z.p999_ns),
    max_ns: at(4.2),
    quantile_error: 0.0109,
  };
}

const BOUNDS = Array.from({ length: 61 }, (_, at) => Math.round(1e5 * 10 ** (at / 12)));

/** Requests of a point by latency. */
function spreadOut(points: readonly Point[], at: number): number[] {
  const counts = new Array<number>(BOUNDS.length - 1).fill(0);
  for (const [which, point] of points.entries()) {
    if (point.requests === 0) continue;
    const below = (ns: number) => {
      const z = Math.log(ns / point.median) / point.spread;
      return 1 / (1 + Math.exp(-1.702 * z));
    };
    for (let bucket = 0; bucket < counts.length; bucket++) {
      const share = below(BOUNDS[bucket + 1]!) - below(BOUNDS[bucket]!);
      const many = point.requests * share;
      const rest = many - Math.floor(many);
      counts[bucket]! += Math.floor(many) + (chance(at, bucket, which) < rest ? 1 : 0);
    }
    // A few that wait for something else.
    if (chance(at, which, 77) < 0.18 && point.median > MS)
      counts[Math.min(59, 44 + Math.floor(chance(at, 5) * 6))]! += 1;
  }
  return counts;
}

function exemplarOf(model: RouteModel, minute: number, index: number, slow: boolean): Exemplar {
  const factor = slow ? 1.9 + chance(minute, index) * 1.6 : 1;
  const spans: KeptSpan[] = [];
  let at = model.outside * 0.4;
  for (const [name, ns] of model.regions) {
    const own =
      ns *
      slowdown(model.route, minute) ** (name === "inference" ? 1 : 0) *
      (name === "inference" ? factor : 1);
    const me = spans.length;
    spans.push({ name, parent: null, start_ns: Math.round(at), duration_ns: Math.round(own) });
    if (name === "inference") {
      spans.push({
        name: "to device",
        parent: me,
        start_ns: Math.round(at + own * 0.02),
        duration_ns: Math.round(own * 0.06),
      });
      spans.push({
        name: "forward",
        parent: me,
        start_ns: Math.round(at + own * 0.09),
        duration_ns: Math.round(own * 0.84),
      });
    }
    at += own;
  }
  const failed = hasErrors(minute) && index === 1;
  return {
    route: model.route,
    id: `req-${(minute * 7 + index) % 99_991}`,
    ended_ns: (minute + chance(minute, index, 9)) * 60e9,
    latency_ns: Math.round(at + model.outside * 0.6),
    failed,
    samples: model.route === "/health" ? 0 : 8,
    process: 4210 + (index % 3),
    slow,
    spans,
    stack:
      slow && isSlow(minute) && model.route === "/predict"
        ? [
            "serve (app/main.py:88)",
            "predict (app/routes/predict.py:41)",
            "run_batch (app/model/runner.py:127)",
            "forward (torch/nn/modules/module.py:1762)",
            "_wait_for_clock (app/model/power.py:19)",
          ]
        : [],
    profile: null,
    key: minute * 16 + index,
  };
}

const DEFINITIONS = [
  ["requests", "Requests that ended in the period, in all processes."],
  ["per_second", "Requests by the length of the whole period, minutes without requests included."],
  ["error_rate", "Share of requests that failed."],
  ["p95_ns", "The latency that this share of requests did not exceed: off by 1.09% at most."],
  ["missed", "Requests that count against a target: slower than its time, or failed."],
  ["budget_left", "1 minus the share of requests that missed the target by the share that may."],
  [
    "rate",
    "The share of requests that missed the target by the share that may, over the last minutes of the period. An alert is fast above 14.4, slow above 6.",
  ],
  ["self_ns", "Time in regions of this name without regions inside them, by all requests."],
].map(([field = "", text = ""]) => ({ field, label: field, text }));

export interface Staging {
  /** Leave out what a service may not have. */
  without?: ("regions" | "targets" | "counters" | "requests" | "trouble")[];
  /** As a file has it that is read later. */
  report?: boolean;
}

/** A matter that has nothing but its sentence. */
function matter(
  kind: ServiceConcern["kind"],
  tone: ServiceConcern["tone"],
  word: string,
  pieces: ServiceConcern["pieces"],
  facts: Partial<ServiceConcern> = {},
): ServiceConcern {
  const sentence = pieces.filter((one) => typeof one === "string").join("");
  const none = { since: null, until: null, minutes: null, route: null, grew: null };
  return { kind, tone, word, sentence, pieces, ...none, ...facts };
}

/** What the server would say: slow, failed earlier, or all fine. */
function verdictOf(of: Omit<ServiceDashboard, "verdict">, slow: boolean, now: boolean) {
  const errors = ERRORS_AT >= of.from && ERRORS_AT < of.until && slow;
  const from = { from: ERRORS_AT, until: ERRORS_AT + 14, near: of.until };
  const failed = ["6.4% of requests failed from ", from, ": 1,204 requests; usually <0.1%."];
  const nothing = { detail: null, movers: null, example: null, also: [] };
  if (!slow) {
    const text = `${of.route ?? "The service"} answers 41.2 requests per second; all targets are met.`;
    return { ...matter("fine", "good", "All fine", [text]), ...nothing };
  }
  const time = { from: SLOW_AT, until: null, near: of.until };
  const levels = "p95 rose from 64 ms to 190 ms (2.99×); inference grew most.";
  const pieces = now
    ? ["/predict has been slow since ", time, `: ${levels}`]
    : ["/predict was slow from ", time, ` on: ${levels}`];
  const power = { name: "GPU power", device: "GPU 0", unit: "watts" as const };
  const example = of.exemplars
    .map((one, at) => ({ ...one, at }))
    .filter((one) => one.route === "/predict" && one.ended_ns >= SLOW_AT * 60e9)
    .sort((a, b) => b.latency_ns - a.latency_ns)[0];
  return {
    ...matter("slow", "bad", "Slow", pieces, {
      since: SLOW_AT,
      minutes: Math.min(of.until, NOW) - SLOW_AT,
      route: "/predict",
      grew: { region: "inference", before_ns: 31 * MS, after_ns: 96.1 * MS },
    }),
    detail: "88.0% of requests to /predict missed p95<70ms in the last hour (5.0% may).",
    movers: of.counters.length > 0 ? [{ ...power, before: 410, after: 220, score: 9 }] : null,
    example: example?.at ?? null,
    also: errors ? [matter("errors", "warn", "Errors earlier", failed)] : [],
  };
}

/** The dashboard that the server would send. */
export function dashboardOf(asked: ServiceQuery, staging: Staging = {}): ServiceDashboard {
  const without = new Set(staging.without ?? []);
  const end = NOW;
  const length =
    asked.from !== undefined && asked.until !== undefined
      ? asked.until - asked.from
      : (LASTS[asked.last ?? "6h"] ?? 360);
  const until = asked.until ?? end;
  const from = asked.from ?? until - length;
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 180].find((one) => length / one <= 360) ?? 360;
  const grid = Math.floor(from / step) * step;
  const minutes = Array.from({ length: Math.ceil((until - grid) / step) }, (_, at) => grid + at * step);
  const models = without.has("requests") ? [] : ROUTES;
  const calm = without.has("trouble");
  const shift = calm ? -1440 * 2 : 0;
  const points = new Map(
    models.map((model) => [model.route, minutes.map((minute, at) => pointOf(model, at, minute + shift, step))]),
  );
  const before = new Map(
    models.map((model) => [
      model.route,
      minutes.map((minute, at) => pointOf(model, at, minute - length + shift, step)),
    ]),
  );
  const chosen = models.filter((model) => asked.route === undefined || model.route === asked.route);
  const column = (at: number) => chosen.map((model) => points.get(model.route)![at]!);
  const sum = (at: number, of: (one: Point) => number) => column(at).reduce((total, one) => total + of(one), 0);
  const requests = minutes.map((_, at) => sum(at, (one) => one.requests));
  const over = (z: number) =>
    minutes.map((_, at) => {
      const all = column(at).filter((one) => one.requests > 0);
      return all.length === 0 ? null : summaryQuantile(all, z);
    });
  const summed = (route: string) => summaryOf(points.get(route)!, length);
  const rows = models.map((model): RouteRow => {
    const now = summed(model.route);
    const then = summaryOf(before.get(model.route)!, length);
    const region = (list: Point[]) => {
      const all = list.filter((one) => one.requests > 0);
      return all.reduce((total, one) => total + (one.parts.get("inference") ?? 0), 0) / Math.max(1, all.length);
    };
    const [was, is] = [region(before.get(model.route)!), region(points.get(model.route)!)];
    return {
      route: model.route,
      now,
      before: then.requests > 0 ? then : null,
      p95_ns: points.get(model.route)!.map((one) => (one.requests > 0 ? quantile(one, Z.p95_ns) : null)),
      time_share: 0,
      grew:
        is > was * 1.05 ? { region: "inference", before_ns: Math.round(was), after_ns: Math.round(is) } : null,
    };
  });
  const whole = rows.reduce((total, row) => total + row.now.mean_ns * row.now.requests, 0);
  for (const row of rows) row.time_share = (row.now.mean_ns * row.now.requests) / Math.max(1, whole);
  rows.sort((a, b) => b.time_share - a.time_share);
  const names = [...new Set(chosen.flatMap((model) => model.regions.map(([name]) => name)))];
  if (without.has("regions")) names.length = 0;
  const spent = (name: string) =>
    minutes.map((_, at) => sum(at, (one) => (one.parts.get(name) ?? 0) * one.requests));
  const total = (list: number[]) => list.reduce((a, b) => a + b, 0);
  const regions = [...names, "(outside regions)"].map((name) => ({ name, time_ns: spent(name) }));
  const all = total(regions.map((one) => total(one.time_ns)));
  const inside = (minute: number) => minute >= from && minute < until && !calm;
  const slowNow = inside(SLOW_AT) && !without.has("requests");
  const about = (route: string) => asked.route === undefined || asked.route === route;
  const known = (minute: number) => minute >= FIRST && minute < end && !isDown(minute + shift);
  const counter = (
    name: string,
    unit: ServiceDashboard["counters"][number]["unit"],
    device: string | null,
    value: (minute: number) => number,
  ) => ({
    name,
    unit,
    device,
    values: minutes.map((minute) => (known(minute) ? value(minute + shift) : null)),
  });
  const missedIn = (model: RouteModel, target_ns: number, first: number, many: number) => {
    const point = pointOf(model, 0, first, many);
    const z = Math.log(target_ns / point.median) / point.spread;
    return { requests: point.requests, missed: Math.round(point.requests / (1 + Math.exp(1.702 * z))) };
  };
  const targets = [
    { model: ROUTES[0]!, target: "p95<70ms", allowed: 0.05, ns: 70 * MS },
    { model: ROUTES[0]!, target: "error_rate<1%", allowed: 0.01, ns: 0 },
    { model: ROUTES[1]!, target: "p99<=50ms", allowed: 0.01, ns: 50 * MS },
    { model: ROUTES[2]!, target: "p95<2s", allowed: 0.05, ns: 2000 * MS },
  ].map(({ model, target, allowed, ns }) => {
    const count = (first: number, many: number) => {
      if (ns > 0) return missedIn(model, ns, first + shift, many);
      const point = pointOf(model, 0, first + shift, many);
      return { requests: point.requests, missed: point.errors };
    };
    const each = minutes.map((minute) => count(minute, step));
    const held = total(each.map((one) => one.requests));
    const missed = total(each.map((one) => one.missed));
    const burn = [5, 30, 60, 360].map((many) => {
      const parts = Array.from({ length: many }, (_, at) => count(until - many + at, 1));
      const requests = total(parts.map((one) => one.requests));
      const bad = total(parts.map((one) => one.missed));
      return { minutes: many, requests, missed: bad, rate: requests > 0 ? bad / requests / allowed : null };
    });
    const above = (at: number, rate: number) => (burn[at]?.rate ?? 0) > rate;
    return {
      route: model.route,
      target,
      allowed,
      requests: held,
      missed,
      kept: missed <= allowed * held,
      budget_left: 1 - missed / Math.max(1, held) / allowed,
      burn,
      alert:
        above(0, 14.4) && above(2, 14.4)
          ? ("fast" as const)
          : above(1, 6) && above(3, 6)
            ? ("slow" as const)
            : null,
      burn_over_time: each.map((one) => (one.requests > 0 ? one.missed / one.requests / allowed : null)),
    };
  });
  const kept = models.flatMap((model) =>
    [0, 1, 2, 3, 4, 5, 6].map((index) => {
      const minute =
        index < 3 && slowNow
          ? SLOW_AT + 4 + index * 15
          : Math.floor(from + (length * (index + 0.5 + 0.3 * wobble(index))) / 7);
      return exemplarOf(model, minute, index, index < 5);
    }),
  );
  const grew = { region: "inference", before_ns: 31 * MS, after_ns: 96.1 * MS };
  const change = (metric: "p50" | "p95", before_ns: number, after_ns: number) => ({
    route: "/predict",
    metric,
    minute: SLOW_AT,
    before_ns,
    after_ns,
    pace: "slow" as const,
    p: 0.0005,
    grew,
  });
  const changes =
    slowNow && about("/predict")
      ? [change("p50", 40.2 * MS, 105.1 * MS), change("p95", 63.7 * MS, 190.4 * MS)]
      : [];
  const happened = changes.map(
    ({ metric, minute }): ServiceEvent => ({ minute, kind: "worse", text: `${metric} of /predict went up` }),
  );
  if (slowNow)
    happened.push({ minute: SLOW_AT + 6, kind: "alert", text: "Alert burn-fast: 17 times too fast" });
  const made: Omit<ServiceDashboard, "verdict"> = {
    name: "ranker",
    from,
    until,
    first: without.has("requests") ? null : FIRST,
    last: without.has("requests") ? null : end - 1,
    newest_ns: without.has("requests") ? null : end * 60e9 - 4e9,
    point_minutes: step,
    minutes,
    route: asked.route ?? null,
    processes: models.length > 0 ? 3 : 0,
    counted_seconds: length * 60,
    changed_share: 0.05,
    total: summaryOf(
      chosen.flatMap((model) => points.get(model.route)!),
      length,
    ),
    total_before:
      models.length > 0 && from - length >= FIRST
        ? summaryOf(
            chosen.flatMap((model) => before.get(model.route)!),
            length,
          )
        : null,
    compared_from: from - length,
    routes: rows,
    series: {
      requests,
      errors: minutes.map((_, at) => sum(at, (one) => one.errors)),
      p50_ns: over(Z.p50_ns),
      p90_ns: over(Z.p90_ns),
      p95_ns: over(Z.p95_ns),
      p99_ns: over(Z.p99_ns),
      max_ns: over(4.2),
    },
    heat: { bounds_ns: BOUNDS, counts: minutes.map((_, at) => spreadOut(column(at), at)) },
    regions: regions.map(({ name, time_ns }) => ({
      name,
      time_ns,
      share: total(time_ns) / Math.max(1, all),
      p50_ns: Math.round(total(time_ns) / Math.max(1, total(requests))),
      p95_ns: Math.round((1.6 * total(time_ns)) / Math.max(1, total(requests))),
    })),
    targets: without.has("targets") || models.length === 0 ? [] : targets.filter((one) => about(one.route)),
    counters:
      without.has("counters") || models.length === 0
        ? []
        : [
            ...[0, 1].flatMap((gpu) => [
              counter("GPU busy", "percent", `GPU ${gpu}`, (m) =>
                Math.min(99, 52 * rhythm(m) + 14 + 4 * wobble(m, gpu) + (isSlow(m) && gpu === 0 ? 26 : 0)),
              ),
              counter(
                "GPU memory",
                "bytes",
                `GPU ${gpu}`,
                (m) => (41 + gpu + 0.4 * wobble(m, gpu, 4)) * 2 ** 30,
              ),
              counter(
                "GPU power",
                "watts",
                `GPU ${gpu}`,
                (m) => 310 + 160 * rhythm(m) + 12 * wobble(m, gpu, 5) - (isSlow(m) && gpu === 0 ? 190 : 0),
              ),
              counter(
                "GPU temperature",
                "celsius",
                `GPU ${gpu}`,
                (m) => 54 + 9 * rhythm(m) + wobble(m, gpu, 6) + (isSlow(m) && gpu === 0 ? 22 : 0),
              ),
            ]),
            counter("CPU busy", "percent", null, (m) => 18 + 22 * rhythm(m) + 3 * wobble(m, 8)),
            counter(
              "Memory of processes",
              "bytes",
              null,
              (m) => (6.2 + 0.1 * wobble(m, 9) + 1.4 * (((m - RESTART_AT + 14_400) % 1440) / 1440)) * 2 ** 30,
            ),
            counter("Requests in flight", "count", null, (m) =>
              Math.round(3 * rhythm(m) * (isSlow(m) ? 3 : 1) + Math.abs(wobble(m, 10))),
            ),
          ],
    changes,
    exemplars: kept.filter((one) => about(one.route)),
    happened,
    notes: [],
    definitions: DEFINITIONS,
  };
  const isSaid = slowNow && about("/predict");
  return { ...made, verdict: verdictOf(made, isSaid, asked.from === undefined && !staging.report) };
}

function summaryQuantile(points: readonly Point[], z: number): number {
  const many = points.reduce((sum, one) => sum + one.requests, 0);
  return Math.round(points.reduce((sum, one) => sum + quantile(one, z) * one.requests, 0) / many);
}
