// What is looked at: all steps or one, all devices or one; and what a trace without steps or devices means.

import type { Account } from "../data/account.ts";
import type { Options } from "../data/types.ts";
import { isXla, useFramework } from "../session/framework.ts";
import { param, pushParams } from "../session/route.ts";
import { type Loaded, useAsk } from "../session/use-ask.ts";
import { stepName } from "./key-names.ts";
import { Empty } from "./states.tsx";

/** The whole account, whatever is chosen: it tells which steps and devices there are. */
export function useScope(): Loaded<Account> {
  return useAsk<Account>("account", { by: "step" });
}

/** The step and device of the URL as options; `waits`, `loading`, `critical-path` and `what-if` take no device. */
export function scoped(withDevice: boolean): Options {
  return { step: param("step"), device: withDevice ? param("device") : undefined };
}

/** Whether device work was recorded; unknown counts as yes. */
export function hasDevice(account: Account | undefined): boolean {
  return (
    account === undefined ||
    account.causes.some((cause) => cause.busy) ||
    account.devices.some((d) => d.device !== null)
  );
}

/** Choosers of step and device; those with nothing to choose from are left out. */
export function Scope({ account, withDevice }: { account: Account | undefined; withDevice: boolean }) {
  if (!account) return null;
  const steps = [...new Set(account.steps.map((s) => s.step))];
  const devices = account.devices.flatMap((d) => (d.device === null ? [] : [d.device]));
  return (
    <div class="toolbar scope">
      {!account.synthetic && steps.length > 1 && (
        <Choice name="step" label="Step" all="all steps" values={steps} text={stepName} />
      )}
      {withDevice && devices.length > 1 && (
        <Choice name="device" label="Device" all="all devices" values={devices} text={String} />
      )}
    </div>
  );
}

function Choice(props: {
  name: string;
  label: string;
  all: string;
  values: number[];
  text: (value: number) => string;
}) {
  const chosen = param(props.name) ?? "";
  const known = chosen === "" || props.values.some((value) => String(value) === chosen);
  return (
    <label>
      {props.label}
      <select value={chosen} onChange={(event) => pushParams({ [props.name]: event.currentTarget.value })}>
        <option value="">{props.all}</option>
        {!known && <option value={chosen}>{chosen}</option>}
        {props.values.map((value) => (
          <option key={value} value={String(value)}>
            {props.text(value)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Shown once above the numbers, where the recording has no steps. */
export function NoSteps() {
  const framework = useFramework();
  return (
    <p class="side-note" role="note">
      No steps were recorded, so the whole trace counts as one.{" "}
      {isXla(framework) && (
        <>
          Put <code>StepTraceAnnotation</code> (JAX) or <code>Trace</code> (TensorFlow) around each to mark
          them.
        </>
      )}
      {framework === "PyTorch" && (
        <>
          Call <code>prof.step()</code> after each iteration to mark them.
        </>
      )}
    </p>
  );
}

const RECORD = `with torch.profiler.profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    record_shapes=True,
) as prof:
    for batch in loader:
        train(batch)
        prof.step()`;

/** No device work was recorded: what there would be, and how to get it. */
export function NoDevice({ what }: { what: string }) {
  const framework = useFramework();
  if (framework === null) return <Empty title="No GPU work in this trace." hint={what} />;
  if (isXla(framework))
    return (
      <Empty
        title="No GPU work in this profile."
        hint={`${what} Everything here ran on the CPU: Operators and HLO show it.`}
      />
    );
  return (
    <Empty
      title="No GPU work in this trace."
      hint={`${what} If your program uses a GPU, record its activity too:`}
      code={RECORD}
    />
  );
}
