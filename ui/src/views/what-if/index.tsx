// What if: changes combined, the run simulated with them, and what would help most.

import { useEffect, useState } from "preact/hooks";
import type { Account } from "../../data/account.ts";
import type { WhatIfAnswer } from "../../data/wire.ts";
import { scoped } from "../../parts/scope.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { busy } from "../../session/busy.ts";
import { param, setParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { useAsk } from "../../session/use-ask.ts";
import { Controls } from "./controls.tsx";
import { Helpful } from "./helpful.tsx";
import { fromParams, isEmpty, optionsOf, type Plan, toParams } from "./plan.ts";
import { Result, Unchanged } from "./result.tsx";
import "./style.css";

const PAUSE_MS = 250;

/** The plan once the hand on a slider has come to rest. */
function useSettled(plan: Plan): Plan {
  const key = JSON.stringify(plan);
  const [settled, setSettled] = useState({ key, plan });
  useEffect(() => {
    if (settled.key === key) return;
    busy(1);
    const timer = setTimeout(() => setSettled({ key, plan }), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      busy(-1);
    };
  }, [key, settled.key]);
  return settled.plan;
}

export function WhatIfTab({ account }: { account: Account | undefined }) {
  const plan = fromParams(param("change"), param("faster"));
  const settled = useSettled(plan);
  const set = (next: Plan) => setParams(toParams(next));
  const standard = useAsk<WhatIfAnswer>("what-if", scoped(false));
  const empty = isEmpty(settled);
  const replay = useAsk<WhatIfAnswer>("what-if", optionsOf(settled, param("step")), !empty);
  return (
    <div class="what-if">
      {source.isReport ? (
        <Card title="Changes" class="what-if-controls">
          <p class="quiet">
            This report contains only the changes below. To combine changes, open the trace with{" "}
            <code>stepscope view</code>.
          </p>
        </Card>
      ) : (
        <Controls plan={plan} set={set} tried={standard.data?.what_if} account={account} />
      )}
      <div class="what-if-result">
        {isEmpty(plan) || empty ? (
          <Await of={standard}>{(answer) => <Unchanged answer={answer} />}</Await>
        ) : (
          <Await of={replay}>{(answer) => <Result answer={answer} />}</Await>
        )}
      </div>
      <div class="what-if-helpful">
        <Await of={standard}>
          {(answer) => <Helpful answer={answer} plan={plan} set={source.isReport ? undefined : set} />}
        </Await>
      </div>
    </div>
  );
}
