// A service in production: is it slow now, since when, which route, which region, and one such request.

import { useEffect } from "preact/hooks";
import type { ServiceDashboard } from "../../data/production-types.ts";
import { Card, Empty, Trouble } from "../../parts/states.tsx";
import { register } from "../../session/commands.ts";
import { param, pushParams, route, setParams } from "../../session/route.ts";
import { runs, source } from "../../session/state.ts";
import { Board, HeatCard } from "./board/index.tsx";
import { hasOwnZone, type Zone } from "./clock.ts";
import { Exemplars } from "./exemplars.tsx";
import { Happened } from "./happened.tsx";
import { Header } from "./header.tsx";
import { keyOf } from "./merge.ts";
import { endsNow, LAST_NAMES, LASTS, lastParams, type Period, periodOf, queryOf } from "./period.ts";
import { Request } from "./request.tsx";
import { Routes } from "./routes.tsx";
import { Targets } from "./targets.tsx";
import { Tiles } from "./tiles.tsx";
import { useService } from "./use-service.ts";
import { VerdictCard } from "./verdict-card.tsx";
import "./style.css";
import "./board/style.css";

const RECORD = `monitor = stepscope.ServiceMonitor("service")

with monitor.request("/predict") as request:
    with request.region("inference"):
        ...`;

export function Service() {
  if (!runs.value?.service)
    return (
      <Card title="A service in production">
        <Empty
          title="No service is open here."
          hint="A service that counts its requests with `stepscope.ServiceMonitor` writes them to a directory. Its dashboard is shown by:"
          code="stepscope view DIRECTORY"
        />
      </Card>
    );
  return <Dashboard />;
}

function Dashboard() {
  // A report holds one period, which has ended.
  const period = source.isReport ? periodOf({}) : periodOf(route.value.params);
  const now = endsNow(period) && !source.isReport;
  const open = param("request");
  const { data, problem, stale, connection } = useService(queryOf(period, param("route")), now, open);
  useEffect(() => register(commands()), []);
  if (!data) return problem ? <Trouble problem={problem} /> : <div class="skeleton" aria-busy="true" />;
  const zone: Zone = param("zone") === "utc" || !hasOwnZone(data.until) ? "utc" : "local";
  return (
    <>
      <Header {...{ of: data, period, zone, connection }} />
      {problem && <Trouble problem={problem} />}
      <div class={stale ? "sv-page stale" : "sv-page"} aria-busy={stale}>
        <Shown {...{ of: data, period, zone }} />
      </div>
      {open !== undefined && <Request of={data} open={open} zone={zone} />}
    </>
  );
}

/** Opens a request; the browser's back closes it. */
const openRequest = (key: string) => pushParams({ request: key });

function Shown(props: { of: ServiceDashboard; period: Period; zone: Zone }) {
  const { of, zone } = props;
  const any = of.total.requests > 0;
  return (
    <>
      {any ? (
        <>
          <VerdictCard of={of} zone={zone} onOpen={openRequest} />
          <Tiles of={of} />
          <HeatCard of={of} zone={zone} onOpen={openRequest} />
        </>
      ) : (
        <Nothing of={of} period={props.period} />
      )}
      {of.routes.length > 0 && <Routes of={of} />}
      {/* The machine may have been watched while there were no requests. */}
      {(any || of.counters.length > 0) && <Board of={of} zone={zone} />}
      {any && (
        <>
          <Targets of={of} />
          <Exemplars of={of} zone={zone} onOpen={(one) => openRequest(keyOf(one))} />
        </>
      )}
      <Happened of={of} zone={zone} />
    </>
  );
}

/** Nothing in the period: where there is something, or how to begin. */
function Nothing({ of, period }: { of: ServiceDashboard; period: Period }) {
  const { last, newest_ns } = of;
  if (last === null)
    return (
      <Card title={of.name}>
        <Empty
          title="No requests yet."
          hint="They appear here as soon as the service answers some. This is how it counts them:"
          code={RECORD}
        />
      </Card>
    );
  const until = Math.ceil(Math.min(last + 1, newest_ns === null ? last + 1 : newest_ns / 60e9));
  const where = of.route === null ? "" : ` of ${of.route}`;
  const when = period.zoom ? "in this stretch" : `in the ${LAST_NAMES[period.last]}`;
  return (
    <Card title={of.name}>
      <Empty title={`No requests${where} ${when}.`} hint="Those that were counted lie outside of it." />
      <p class="sv-center">
        <button
          type="button"
          class="primary"
          onClick={() => pushParams({ from: until - 360, until, route: undefined })}
        >
          Show the newest requests
        </button>
      </p>
    </Card>
  );
}

function commands() {
  const view = "service";
  return [
    {
      id: "service-back",
      name: "Leave the zoom",
      view,
      keys: ["Escape"],
      run: () => pushParams({ from: undefined, until: undefined }),
    },
    ...LASTS.map((last) => ({
      id: `service-${last}`,
      name: `Show the ${LAST_NAMES[last]}`,
      view,
      run: () => pushParams(lastParams(last)),
    })),
    {
      id: "service-table",
      name: "Show charts as a table, or as charts again",
      view,
      keys: ["KeyT"],
      run: () => setParams({ show: param("show") === "table" ? undefined : "table" }),
    },
  ];
}
