// The overview: the verdict, the numbers, where the time went, and what to change. Each part is asked for by
// itself, so that it shows as soon as it is there.

import { definition } from "../../parts/figure.tsx";
import { Await, Trouble } from "../../parts/states.tsx";
import { param } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { TimeAccount } from "./account.tsx";
import { Findings } from "./finding-list.tsx";
import { LargestKernels, LargestOperators } from "./largest.tsx";
import { Figures } from "./metrics.tsx";
import { RunInfo } from "./run-info.tsx";
import { NoSteps, Steps } from "./steps/index.tsx";
import "./style.css";
import "./findings.css";
import "./steps/style.css";
import type { Account } from "../../data/account.ts";
import type { FindingsAnswer, GpuAnswer, InfoAnswer, Roofline, StepsAnswer } from "./types.ts";
import { Verdict } from "./verdict.tsx";

export function Overview() {
  const step = param("step");
  const device = param("device");
  const info = useAsk<InfoAnswer>("info");
  const all = useAsk<StepsAnswer>("steps");
  // The numbers are of the steps chosen; the chart goes on showing all.
  const some = useAsk<StepsAnswer>("steps", { step }, step !== undefined);
  const account = useAsk<Account>("account", { step, device });
  const gpu = useAsk<GpuAnswer>("gpu", { step, device });
  const findings = useAsk<FindingsAnswer>("findings", { step });
  const hasDevice = (gpu.data?.gpu.length ?? 0) > 0;
  const roofline = useAsk<Roofline>("roofline", { step, device, top: 1 }, hasDevice);
  // A trace that cannot be read is one problem, not one for each card.
  if (info.problem && !info.data) return <Trouble problem={info.problem} />;
  const recording = info.data && (
    <RunInfo info={info.data.info} text={(field) => definition(info.data?.definitions, field)} />
  );
  if (all.data?.steps.length === 0)
    return (
      <>
        <Verdict account={account.data} info={info.data?.info} steps={all.data} />
        <NoSteps />
        {recording}
      </>
    );
  return (
    <>
      <Verdict account={account.data} info={info.data?.info} steps={all.data} />
      {gpu.problem && <Trouble problem={gpu.problem} />}
      <Figures steps={step === undefined ? all : some} gpu={gpu} roofline={roofline} />
      <div class="two-columns">
        <Await of={all}>{(data) => <Steps of={data} definitions={data.definitions} />}</Await>
        <Await of={account}>{(data) => <TimeAccount of={data} definitions={data.definitions} />}</Await>
      </div>
      <Await of={findings}>{(data) => <Findings of={data} definitions={data.definitions} />}</Await>
      {gpu.data && (
        <div class={hasDevice ? "two-columns even" : ""}>
          <LargestOperators host={!hasDevice} />
          {hasDevice && <LargestKernels />}
        </div>
      )}
      {recording}
    </>
  );
}
