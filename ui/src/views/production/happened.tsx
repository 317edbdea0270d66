// What happened, in the order of time, and what the numbers of the page mean.

import { Fragment } from "preact";
import type { ServiceDashboard } from "../../data/production-types.ts";
import { count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Card } from "../../parts/states.tsx";
import type { Zone } from "./clock.ts";
import { MomentLink } from "./zoom.tsx";

const MAX_HAPPENINGS = 50;

export function Happened({ of, zone }: { of: ServiceDashboard; zone: Zone }) {
  const all = [...of.happened].reverse();
  return (
    <div class="card-column">
      {all.length > 0 && (
        <Card title="Changes and alerts" note={`${count(all.length)}, newest first`}>
          <ul class="sv-happened">
            {all.slice(0, MAX_HAPPENINGS).map((one, at) => (
              <li key={at} class={`sv-${one.kind}`}>
                <Icon name={one.kind === "better" ? "check" : "warn"} size={14} />
                <MomentLink {...{ minute: one.minute, of, zone }} />
                <bdi>{one.text}</bdi>
              </li>
            ))}
          </ul>
        </Card>
      )}
      {of.definitions.length > 0 && (
        <details class="card sv-meanings">
          <summary>What the numbers mean</summary>
          <dl class="detail-facts">
            {of.definitions.map(({ field, label, text }) => (
              <Fragment key={field}>
                <dt>{label}</dt>
                <dd>{text}</dd>
              </Fragment>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
}
