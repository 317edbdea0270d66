// The verdict as the reader meets it: one sentence, the facts beside it, and a request that shows it.

import type { ServiceDashboard } from "../../data/production-types.ts";
import { about, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { pushParams } from "../../session/route.ts";
import { spanOf, type Zone } from "./clock.ts";
import { keyOf } from "./merge.ts";
import { moversAt } from "./movers.ts";
import { exampleOf, type Grade, type Verdict } from "./verdict.ts";
import { counterText } from "./words.ts";
import { MomentLink } from "./zoom.tsx";

const ICONS = { bad: "warn", warn: "warn", good: "check", none: "info" } as const satisfies Record<
  Grade,
  string
>;
/** More would hide the first. */
const MOST_ALSO = 3;
const MOST_MOVERS = 2;

export function VerdictCard(props: {
  of: ServiceDashboard;
  verdict: Verdict;
  zone: Zone;
  onOpen: (key: string) => void;
}) {
  const { of, verdict } = props;
  const { also } = verdict;
  const example = verdict.grade === "good" ? undefined : exampleOf(verdict, of.exemplars);
  return (
    <section class={`card sv-verdict ${verdict.grade}`} aria-label="Verdict">
      <header class="sv-word">
        <Icon name={ICONS[verdict.grade]} /> {verdict.word}
        {example && (
          <button type="button" class="primary" onClick={() => props.onOpen(keyOf(example))}>
            Show one such request <span class="sv-light">{time(example.latency_ns)}</span>
          </button>
        )}
      </header>
      <p class="sv-sentence">{verdict.sentence}</p>
      {verdict.detail && <p>{verdict.detail}</p>}
      {verdict.grade !== "good" && <Facts {...props} />}
      {also.length > 0 && (
        <ul class="sv-also">
          {also.slice(0, MOST_ALSO).map((one) => (
            <li key={one.sentence}>
              <b class={one.grade}>{one.word}</b> {one.sentence}
            </li>
          ))}
          {also.length > MOST_ALSO && <li class="quiet">and {also.length - MOST_ALSO} more</li>}
        </ul>
      )}
      {of.notes.length > 0 && (
        <ul class="sv-notes quiet">
          {of.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Where the requests of a period end, or the period if there are none after a minute. */
function endOf(of: ServiceDashboard, minute: number): number {
  const asked = of.minutes.filter((_, index) => (of.series.requests[index] ?? 0) > 0);
  const end = Math.min(of.until, (asked.at(-1) ?? of.until) + of.point_minutes);
  return end > minute ? end : of.until;
}

/** Since when, which route, which region, which counter moved with it; and ways to look at each. */
function Facts({ of, verdict, zone }: { of: ServiceDashboard; verdict: Verdict; zone: Zone }) {
  const { minute, route, grew } = verdict;
  const movers = minute === null ? undefined : moversAt(minute, of)?.slice(0, MOST_MOVERS);
  const inside = minute !== null && minute >= of.from && minute < of.until;
  return (
    <div class="sv-facts">
      {inside && (
        <Fact name="Since">
          <MomentLink {...{ minute, of, zone }} />{" "}
          <span class="quiet">{spanOf((verdict.until ?? endOf(of, minute)) - minute)}</span>
        </Fact>
      )}
      {route !== null && (
        <Fact name="Route">
          {of.route === route ? (
            <bdi>{route}</bdi>
          ) : (
            <button type="button" class="link" onClick={() => pushParams({ route })}>
              <bdi>{route}</bdi>
            </button>
          )}
        </Fact>
      )}
      {grew && (
        <Fact name="Region">
          <bdi>{grew.region}</bdi>{" "}
          <span class="quiet">{`${about(grew.before_ns)} → ${about(grew.after_ns)}`}</span>
        </Fact>
      )}
      {movers?.map(({ counter, before, after }) => (
        <Fact key={`${counter.name} ${counter.device}`} name="Moved with it">
          {[counter.name, counter.device].filter(Boolean).join(", ")}{" "}
          <span class="quiet">{`${counterText(before, counter.unit)} → ${counterText(after, counter.unit)}`}</span>
        </Fact>
      ))}
      {movers?.length === 0 && (
        <Fact name="Moved with it">
          <span class="quiet">no counter</span>
        </Fact>
      )}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="sv-fact">
      <span class="sv-fact-name">{name}</span>
      <span>{children}</span>
    </div>
  );
}
