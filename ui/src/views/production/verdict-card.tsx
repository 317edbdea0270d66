// The verdict as the reader meets it: one sentence, the facts beside it, and a request that shows it.

import type { ServiceConcern, ServiceDashboard, ServiceTone } from "../../data/production-types.ts";
import { about, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { pushParams } from "../../session/route.ts";
import { shortMoment, spanOf, stretchOf, type Zone } from "./clock.ts";
import { keyOf } from "./merge.ts";
import { counterText } from "./words.ts";
import { MomentLink } from "./zoom.tsx";

const ICONS = { bad: "warn", warn: "warn", good: "check", none: "info" } as const satisfies Record<
  ServiceTone,
  string
>;
/** More would hide the first. */
const MAX_OTHER_VERDICTS = 3;
const MAX_MOVERS = 2;

/** The sentence of the server, with times as the reader's clock shows them. */
export function sentenceOf({ pieces }: ServiceConcern, zone: Zone): string {
  const text = (piece: ServiceConcern["pieces"][number]) => {
    if (typeof piece === "string") return piece;
    const { from, until, near } = piece;
    return until === null ? shortMoment(from, near, zone) : stretchOf(from, until, near, zone);
  };
  return pieces.map(text).join("");
}

export function VerdictCard(props: { of: ServiceDashboard; zone: Zone; onOpen: (key: string) => void }) {
  const { of, zone } = props;
  const { verdict } = of;
  const { also } = verdict;
  const example = verdict.example === null ? undefined : of.exemplars[verdict.example];
  return (
    <section class={`card sv-verdict ${verdict.tone}`} aria-label="Verdict">
      <header class="sv-word">
        <Icon name={ICONS[verdict.tone]} /> {verdict.word}
        {example && (
          <button type="button" class="primary" onClick={() => props.onOpen(keyOf(example))}>
            Show one such request <span class="sv-light">{time(example.latency_ns)}</span>
          </button>
        )}
      </header>
      <p class="sv-sentence">{sentenceOf(verdict, zone)}</p>
      {verdict.detail && <p>{verdict.detail}</p>}
      {verdict.tone !== "good" && <Facts of={of} zone={zone} />}
      {also.length > 0 && (
        <ul class="sv-also">
          {also.slice(0, MAX_OTHER_VERDICTS).map((one) => (
            <li key={one.sentence}>
              <b class={one.tone}>{one.word}</b> {sentenceOf(one, zone)}
            </li>
          ))}
          {also.length > MAX_OTHER_VERDICTS && (
            <li class="quiet">and {also.length - MAX_OTHER_VERDICTS} more</li>
          )}
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

/** Since when, which route, which region, which counter moved with it; and ways to look at each. */
function Facts({ of, zone }: { of: ServiceDashboard; zone: Zone }) {
  const { since, minutes, route, grew, movers } = of.verdict;
  return (
    <div class="sv-facts">
      {since !== null && minutes !== null && (
        <Fact name="Since">
          <MomentLink {...{ minute: since, of, zone }} /> <span class="quiet">{spanOf(minutes)}</span>
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
      {movers?.slice(0, MAX_MOVERS).map(({ name, device, unit, before, after }) => (
        <Fact key={`${name} ${device}`} name="Moved with it">
          {[name, device].filter(Boolean).join(", ")}{" "}
          <span class="quiet">{`${counterText(before, unit)} → ${counterText(after, unit)}`}</span>
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
