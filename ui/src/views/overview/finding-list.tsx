// What to change, the gravest first.

import type { Definition } from "../../data/types.ts";
import { definition } from "../../parts/figure.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";
import { FindingCard } from "./finding-card.tsx";
import { bySeverity, keysOf, openKeys, toggledKeys } from "./findings.ts";
import type { FindingsAnswer } from "./types.ts";

export function Findings({ of, definitions }: { of: FindingsAnswer; definitions: Definition[] | undefined }) {
  const findings = bySeverity(of.findings);
  const keys = keysOf(findings);
  const open = openKeys(keys, param("finding"));
  const costly = findings.filter((f) => f.saves_ns !== null).length;
  return (
    <Card
      title="What to change"
      class="findings"
      note={costly > 1 ? "Savings do not add up: two changes may save the same time." : undefined}
    >
      {findings.length === 0 ? (
        <Empty
          title="Nothing stands out."
          hint="No known pattern costs more than a percent of a step. The operators and kernels below say where the time goes."
        />
      ) : (
        findings.map((finding, at) => {
          const key = keys[at] as string;
          return (
            <FindingCard
              key={key}
              finding={finding}
              step_ns={of.step_ns}
              text={(field) => definition(definitions, field)}
              open={open.has(key)}
              onToggle={() => setParams({ finding: toggledKeys(keys, param("finding"), key) })}
            />
          );
        })
      )}
    </Card>
  );
}
