// The overview, in the order of the terminal: why it takes as long as it does, what to change, where the time goes, what
// takes most of it. Each part is asked for by itself, so that it shows as soon as it is there.

import { definition } from "../../parts/metric.tsx";
import { Await, Trouble } from "../../parts/states.tsx";
import { param } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { TimeAccount } from "./account.tsx";
import { Findings } from "./finding-list.tsx";
import { HotFunctions, ProfileOverview } from "./hot.tsx";
import { Metrics } from "./metrics.tsx";
import { More } from "./more.tsx";
import { RunInfo } from "./run-info.tsx";
import { NoSteps, Steps } from "./steps/index.tsx";
import "./style.css";
import "./findings.css";
import "./steps/style.css";
import type { Account } from "../../data/account.ts";
import { Top } from "./top.tsx";
import type {
  FindingsAnswer,
  GpuAnswer,
  InfoAnswer,
  InfoOfProfile,
  Roofline,
  StepsAnswer,
  Summary,
} from "./types.ts";
import { Verdict } from "./verdict.tsx";

export function Overview() {
  const info = useAsk<InfoAnswer | InfoOfProfile>("info");
  // A file that cannot be read is one problem, not one for each card.
  if (info.problem && !info.data) return <Trouble problem={info.problem} />;
  if (!info.data) return <div class="skeleton" />;
  return "profile" in info.data ? <ProfileOverview info={info.data} /> : <TraceOverview info={info.data} />;
}

function TraceOverview({ info }: { info: InfoAnswer }) {
  const step = param("step");
  const device = param("device");
  const all = useAsk<StepsAnswer>("steps");
  // The numbers are of the steps chosen; the chart goes on showing all.
  const some = useAsk<StepsAnswer>("steps", { step }, step !== undefined);
  const account = useAsk<Account>("account", { step, device });
  const gpu = useAsk<GpuAnswer>("gpu", { step, device });
  const findings = useAsk<FindingsAnswer>("findings", { step });
  const summary = useAsk<Summary>("summary", { step, device });
  const hasDevice = (gpu.data?.gpu.length ?? 0) > 0;
  const roofline = useAsk<Roofline>("roofline", { step, device, top: 1 }, hasDevice);
  const recording = <RunInfo info={info.info} text={(field) => definition(info.definitions, field)} />;
  if (all.data?.steps.length === 0)
    return (
      <>
        <Verdict
          account={account.data}
          findings={undefined}
          info={info.info}
          phases={summary.data?.phases_text}
          steps={all.data}
        />
        <NoSteps />
        {recording}
      </>
    );
  const synthetic = all.data?.synthetic ?? false;
  const verdict = (
    <Verdict
      account={account.data}
      findings={findings.data}
      info={info.info}
      phases={summary.data?.phases_text}
      steps={all.data}
      uncovered={summary.data?.uncovered}
    />
  );
  // A program without device work may be one without operators: then its functions say where the time goes.
  if (gpu.data && !hasDevice && !summary.data && summary.pending)
    return (
      <>
        {verdict}
        <div class="skeleton" aria-busy="true" />
      </>
    );
  const hot = summary.data?.hot_functions ?? [];
  if (summary.data && hot.length > 0)
    return (
      <>
        {verdict}
        {(findings.data?.findings.length ?? 0) > 0 && (
          <Await of={findings}>{(data) => <Findings of={data} definitions={data.definitions} />}</Await>
        )}
        <HotFunctions rows={hot} unit={summary.data.unit} of={summary.data.definitions} />
        <Top of={summary.data} device={hasDevice} synthetic={synthetic} />
        {!synthetic && <Await of={all}>{(data) => <Steps of={data} definitions={data.definitions} />}</Await>}
        {recording}
        <More device={hasDevice} />
      </>
    );
  return (
    <>
      {verdict}
      <Await of={findings}>{(data) => <Findings of={data} definitions={data.definitions} />}</Await>
      <div class="two-columns time">
        <Await of={account}>{(data) => <TimeAccount of={data} definitions={data.definitions} />}</Await>
        <Await of={all}>{(data) => <Steps of={data} definitions={data.definitions} />}</Await>
      </div>
      <Await of={summary}>{(data) => <Top of={data} device={hasDevice} synthetic={synthetic} />}</Await>
      {gpu.problem && <Trouble problem={gpu.problem} />}
      <Metrics steps={step === undefined ? all : some} gpu={gpu} roofline={roofline} />
      {recording}
      <More device={hasDevice} />
    </>
  );
}
