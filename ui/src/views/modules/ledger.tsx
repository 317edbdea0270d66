// Where all device time went: below modules, forward and backward, or outside of them.

import type { Definition } from "../../data/types.ts";
import { Defined, definition } from "../../parts/figure.tsx";
import { percent, time } from "../../parts/format.ts";
import { Card } from "../../parts/states.tsx";
import type { Ledger as Parts } from "./types.ts";

export function Ledger({ ledger, definitions }: { ledger: Parts; definitions: Definition[] | undefined }) {
  if (ledger.device_ns <= 0) return null;
  const text = (field: string) => definition(definitions, field);
  const parts = [
    { kind: "forward", name: "Forward", ns: ledger.forward_device_ns, text: text("device_total_ns") },
    { kind: "backward", name: "Backward", ns: ledger.backward_device_ns, text: text("backward_device_ns") },
    { kind: "outside", name: "Outside modules", ns: ledger.outside_device_ns, text: text("outside_device_ns") },
    { kind: "unlinked", name: "Unlinked", ns: ledger.unlinked_device_ns, text: text("unlinked_device_ns") },
  ].filter((part) => part.ns > 0);
  return (
    <Card title="Device time" text={text("device_ns")} note={time(ledger.device_ns)}>
      <div class="mod-ledger" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.kind} class={`mod-${part.kind}`} style={{ flexGrow: part.ns / ledger.device_ns }} />
        ))}
      </div>
      <dl class="mod-parts num">
        {parts.map((part) => (
          <div key={part.kind}>
            <dt>
              <span class={`swatch mod-${part.kind}`} /> <Defined text={part.text}>{part.name}</Defined>
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
