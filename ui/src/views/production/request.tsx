// One request: its regions as bars inside each other, what they usually take, and where Python was.

import { useEffect, useRef } from "preact/hooks";
import type { Exemplar, ServiceDashboard } from "../../data/production-types.ts";
import { count, percent, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Empty } from "../../parts/states.tsx";
import { setParams } from "../../session/route.ts";
import { regionColor } from "./board/charts.tsx";
import { momentOf, secondOf, type Zone } from "./clock.ts";
import { keyOf } from "./merge.ts";
import { outside, placed } from "./spans.ts";

/** A request may have thousands: too many to read. */
const MAX_REGIONS = 200;

export function Request({ of, open, zone }: { of: ServiceDashboard; open: string; zone: Zone }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const one = of.exemplars.find((other) => keyOf(other) === open);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const close = () => setParams({ request: undefined });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="sv-request"
      aria-label="Request"
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="sv-request-body">
        <header class="help-head">
          <h2>
            {one ? (
              <>
                <bdi>{one.route}</bdi> took {time(one.latency_ns)}
                {one.failed && <span class="tone-bad"> and failed</span>}
              </>
            ) : (
              "Request"
            )}
          </h2>
          <form method="dialog">
            <button type="submit" class="icon-button" aria-label="Close">
              <Icon name="close" />
            </button>
          </form>
        </header>
        {one ? (
          <Body of={of} one={one} zone={zone} />
        ) : (
          <Empty
            title="This request is not among those of the period."
            hint="Choose a longer period, or all routes."
          />
        )}
      </div>
    </dialog>
  );
}

function Body({ of, one, zone }: { of: ServiceDashboard; one: Exemplar; zone: Zone }) {
  const route = of.routes.find((other) => other.route === one.route);
  const minute = Math.floor(one.ended_ns / 60e9);
  const when = `${momentOf(minute, zone).replace(/, [\d:]+$/, "")}, ${secondOf(one.ended_ns, zone)}${zone === "utc" ? " UTC" : ""}`;
  const facts = [
    `ended ${when}`,
    one.id && `id ${one.id}`,
    `process ${one.process}`,
    one.samples > 1 && `${count(one.samples)} samples`,
    one.profile && `profile in profiles/${one.profile}`,
    route && `p50 of the route ${time(route.now.p50_ns)}`,
  ];
  return (
    <>
      <p class="quiet">{facts.filter(Boolean).join(" · ")}</p>
      <Bars of={of} one={one} />
      {one.stack.length > 0 && (
        <section>
          <h3>Python stack, innermost last</h3>
          <ol class="python-stack mono">
            {one.stack.map((line, at) => (
              <li key={at}>{line}</li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function Bars({ of, one }: { of: ServiceDashboard; one: Exemplar }) {
  const rows = placed(one);
  if (rows.length === 0)
    return (
      <Empty
        title="This request has no regions."
        hint="Regions show where the time goes:"
        code={'with request.region("inference"):\n    ...'}
      />
    );
  const rest = outside(one);
  const known = new Map(of.regions.map((region, at) => [region.name, { ...region, at }]));
  const color = (name: string) => regionColor(name, known.get(name)?.at ?? 8);
  return (
    <>
      <div class="sv-scroll">
        <table class="plain sv-bars" aria-label="Regions of the request">
          <thead>
            <tr>
              <th scope="col">Region</th>
              <th scope="col" class="sv-bar-cell">
                <span class="sv-bar-scale">
                  <span>0</span>
                  <span>{time(one.latency_ns / 2)}</span>
                  <span>{time(one.latency_ns)}</span>
                </span>
              </th>
              <th scope="col" class="num">
                Time
              </th>
              <th scope="col" class="num">
                Share
              </th>
              <th scope="col" class="num">
                Usual p50
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_REGIONS).map((row, at) => {
              const usual = known.get(row.name)?.p50_ns;
              return (
                <tr key={at}>
                  <td class="sv-bar-name" style={{ paddingLeft: `${row.depth * 14}px` }}>
                    <bdi title={row.name}>{row.name}</bdi>
                  </td>
                  <td class="sv-bar-cell">
                    <span class="sv-bar-track">
                      <span
                        class={`sv-bar ${color(row.name)}`}
                        style={{ left: `${row.start * 100}%`, width: `${row.length * 100}%` }}
                      />
                    </span>
                  </td>
                  <td class="num">{time(row.duration_ns)}</td>
                  <td class="num">{percent(row.duration_ns / Math.max(1, one.latency_ns))}</td>
                  <td class="num quiet">{usual == null ? "–" : time(usual)}</td>
                </tr>
              );
            })}
            <tr>
              <td class="quiet">(outside regions)</td>
              <td />
              <td class="num">{time(rest)}</td>
              <td class="num">{percent(rest / Math.max(1, one.latency_ns))}</td>
              <td class="num quiet">–</td>
            </tr>
          </tbody>
        </table>
      </div>
      {rows.length > MAX_REGIONS && <p class="quiet">and {count(rows.length - MAX_REGIONS)} more regions</p>}
    </>
  );
}
