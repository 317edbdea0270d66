// What is looked at: the period, the route, and whether it follows what is written.

import type { ServiceDashboard } from "../../data/production-types.ts";
import { Choice } from "../../parts/choice.tsx";
import { count, many } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { tipOn } from "../../parts/tip.tsx";
import { param, pushParams, setParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { clockOf, hasOwnZone, secondOf, stretchOf, type Zone } from "./clock.ts";
import { LAST_NAMES, LASTS, lastParams, type Period } from "./period.ts";
import type { Connection } from "./use-service.ts";

export function Header(props: { of: ServiceDashboard; period: Period; zone: Zone; connection: Connection }) {
  const { of, period, zone } = props;
  const chosen = param("route");
  const names = of.routes.map((one) => one.route);
  // One that is chosen stays in the list though it had no request.
  const all = chosen === undefined || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <div class="toolbar sv-header">
      {source.isReport ? (
        <span>{stretchOf(of.from, of.until, of.until, zone)}</span>
      ) : (
        <Choice
          label="Period"
          value={period.zoom ? "" : period.last}
          options={LASTS.map((last) => ({
            value: last as string,
            name: last,
            text: `The ${LAST_NAMES[last]}`,
          }))}
          onChange={(last) => pushParams(lastParams(last as Period["last"]))}
        />
      )}
      {period.zoom && (
        <button
          type="button"
          class="chip"
          onClick={() => pushParams({ from: undefined, until: undefined })}
          {...tipOn(`Back to the ${LAST_NAMES[period.last]} (Esc)`)}
        >
          {stretchOf(period.zoom.from, period.zoom.until, of.last ?? of.until, zone)}
          <Icon name="close" size={12} />
          <span class="sr-only">: back to the {LAST_NAMES[period.last]}</span>
        </button>
      )}
      {all.length > 0 && (
        <label>
          Route
          <select
            value={chosen ?? ""}
            onChange={(event) => pushParams({ route: event.currentTarget.value || undefined })}
          >
            <option value="">{names.length === 1 ? "1 route" : `All ${count(names.length)} routes`}</option>
            {all.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <span class="grow" />
      <ZoneButton of={of} zone={zone} />
      {!source.isReport && <Live {...props} />}
    </div>
  );
}

function ZoneButton({ of, zone }: { of: ServiceDashboard; zone: Zone }) {
  if (!hasOwnZone(of.until)) return <span class="quiet">UTC</span>;
  return (
    <button
      type="button"
      aria-pressed={zone === "utc"}
      onClick={() => setParams({ zone: zone === "utc" ? undefined : "utc" })}
      {...tipOn(`Times are ${zone === "utc" ? "in UTC" : "local"}`)}
    >
      UTC
    </button>
  );
}

/** Whether the page follows, and if not, since when. */
function Live(props: { of: ServiceDashboard; period: Period; zone: Zone; connection: Connection }) {
  const { of, period, zone, connection } = props;
  const newest = of.newest_ns === null ? "" : `Newest data from ${secondOf(of.newest_ns, zone)}.`;
  const processes = many(of.processes, "process", "processes");
  const [look, word, text] =
    connection.state === "lost"
      ? [
          "lost",
          `Not live since ${clockOf(connection.since / 60_000, zone)}`,
          "The server is not responding. The page reconnects by itself, unless the server was restarted: then open the URL it printed.",
        ]
      : period.zoom
        ? ["still", "Zoomed in", "A stretch of time that was zoomed into does not move."]
        : connection.state === "open"
          ? ["live", "Live", "The page shows what is written within seconds."]
          : ["still", "Connecting", ""];
  return (
    <span class="sv-live-box">
      {of.processes > 0 && <span class="quiet wide-only">{processes}</span>}
      <span
        class={`sv-live ${look}`}
        role="status"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the explanation must be reachable by keyboard
        tabIndex={0}
        {...tipOn([text, newest].filter(Boolean).join(" "))}
      >
        <span class="dot" aria-hidden="true" />
        {word}
      </span>
    </span>
  );
}
