// What to change, the most severe first.

import type { Definition } from "../../data/types.ts";
import { definition } from "../../parts/metric.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";
import { FindingCard } from "./finding-card.tsx";
import { keysOf, openKeys, toggledKeys } from "./findings.ts";
import type { FindingsAnswer } from "./types.ts";

export function Findings({ of, definitions }: { of: FindingsAnswer; definitions: Definition[] | undefined }) {
  const { findings } = of;
  const keys = keysOf(findings);
  const open = openKeys(keys, param("finding"));
  const costly = findings.filter((f) => f.saves_ns !== null).length;
  return (
    <Card
      title="What to change"
      class="findings"
      note={costly > 1 ? "Savings overlap: don't add them up." : undefined}
    >
      {findings.length === 0 ? (
        <Empty
          title="Nothing found."
          hint="No rule found a change that would make this noticeably faster. The causes below show where the time goes."
        />
      ) : (
        findings.map((finding, at) => {
          const key = keys[at] as string;
          return (
            <FindingCard
              key={key}
              finding={finding}
              measured={of.step_measured}
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
