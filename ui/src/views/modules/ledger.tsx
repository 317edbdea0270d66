// Where all device time went: below modules, forward and backward, or outside of them.

import type { Definition } from "../../data/types.ts";
import type { ModulesLedger } from "../../data/wire.ts";
import { percent, time } from "../../parts/format.ts";
import { definition, Label } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";

export function Ledger({
  ledger,
  definitions,
}: {
  ledger: ModulesLedger;
  definitions: Definition[] | undefined;
}) {
  if (ledger.device_ns <= 0) return null;
  const kinds = ["forward", "backward", "outside", "unlinked"] as const;
  const parts = kinds
    .map((kind) => ({ kind, field: `${kind}_device_ns` as const, ns: ledger[`${kind}_device_ns`] }))
    .filter((part) => part.ns > 0);
  return (
    <Card title="Device time" text={definition(definitions, "device_ns")} note={time(ledger.device_ns)}>
      <div class="mod-ledger" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.kind} class={`mod-${part.kind}`} style={{ flexGrow: part.ns / ledger.device_ns }} />
        ))}
      </div>
      <dl class="mod-parts num">
        {parts.map((part) => (
          <div key={part.kind}>
            <dt>
              <span class={`swatch mod-${part.kind}`} /> <Label of={definitions} field={part.field} />
            </dt>
            <dd>
              {time(part.ns)} <span class="quiet">{percent(part.ns / ledger.device_ns)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
