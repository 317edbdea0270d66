// The first thing a reader wants to know: what the run is bound by, how long a step takes without the profiler, and what the
// program went through besides.

import type { Account } from "../../data/account.ts";
import { count, many, time } from "../../parts/format.ts";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { param } from "../../session/route.ts";
import type { FindingsAnswer, Info, Note, StepsAnswer } from "./types.ts";

const GRADES: Record<string, { word: string; icon: IconName }> = {
  good: { word: "GPU busy", icon: "check" },
  fair: { word: "GPU partly idle", icon: "warn" },
  poor: { word: "GPU starved", icon: "warn" },
  host: { word: "Host only", icon: "info" },
  empty: { word: "Empty trace", icon: "info" },
};

export function Verdict(props: {
  account: Account | undefined;
  findings: FindingsAnswer | undefined;
  info: Info | undefined;
  steps: StepsAnswer | undefined;
  /** Why no finding answers the verdict. */
  uncovered?: string | null | undefined;
  /** Start-up, warm-up, iterations and pauses of the program. */
  phases?: string | null | undefined;
}) {
  const { account, findings, info, phases, steps, uncovered } = props;
  const blind = findings?.unchecked_rules ?? [];
  const grade = account ? gradeOf(account) : "awaited";
  const words = GRADES[grade];
  return (
    <section class={`card verdict ${grade}`} aria-label="Verdict" aria-busy={!account}>
      <p class="verdict-grade">
        {words && (
          <>
            <Icon name={words.icon} /> {words.word}
          </>
        )}
      </p>
      <p class="verdict-text">{account ? sentence(account) : "Analyzing the trace…"}</p>
      {findings && steps?.average && <p class="verdict-step">{`${findings.step_text}.`}</p>}
      {phases && <p>{`${phases}.`}</p>}
      {uncovered && <p>{uncovered.replaceAll("`", "")}</p>}
      {blind.length > 0 && <p class="quiet">{`${blind.map((b) => b.sentence).join(". ")}.`}</p>}
      <p class="quiet">{[about(info), stepsText(steps)].filter(Boolean).join(" · ")}</p>
      {info && <Damage notes={info.notes} />}
    </section>
  );
}

/** Without a device there is nothing to be well or badly used. */
function gradeOf({ causes, devices, verdict }: Account): string {
  if (causes.length === 0) return "empty";
  return (devices.some((d) => d.device !== null) && verdict?.grade) || "host";
}

function sentence({ verdict }: Account): string {
  return verdict ? `${verdict.text}.` : "No timed events were recorded.";
}

function about(info: Info | undefined): string {
  if (!info) return "";
  const { distributed } = info;
  const devices = new Map<string, number>();
  for (const { name } of info.devices) devices.set(name, (devices.get(name) ?? 0) + 1);
  return [
    [info.framework, info.framework_version].filter(Boolean).join(" "),
    ...[...devices].map(([name, n]) => (n > 1 ? `${n} × ${name}` : name)),
    distributed?.rank != null ? `rank ${distributed.rank} of ${distributed.world_size ?? "?"}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function stepsText(steps: StepsAnswer | undefined): string {
  if (!steps) return "";
  const chosen = param("step");
  if (steps.synthetic && steps.steps.length === 0) return "";
  if (steps.synthetic) return `no steps recorded, ${time(steps.average?.wall_ns ?? 0)} in total`;
  const n = steps.steps.length;
  const all = steps.found && chosen === undefined ? steps.found.sentence : many(n, "step");
  return chosen === undefined ? all : `showing step ${chosen} of ${all}`;
}

/** What the file lost or had repaired: read before any number. */
function Damage({ notes }: { notes: Note[] }) {
  const bad = notes.filter((note) => note.severity !== "info");
  if (bad.length === 0) return null;
  const lost = bad.some((note) => note.severity === "lost");
  return (
    <div class={lost ? "damage lost" : "damage"} role="note">
      <p>
        <Icon name="warn" />{" "}
        {lost
          ? "The file is damaged: some events were lost, and the numbers below do not include them."
          : "The file was damaged; the numbers below include the repaired events."}
      </p>
      <ul>
        {bad.map((note) => (
          <li key={note.code}>
            <b>{note.severity}</b>: {note.sentence}
            {note.count > 1 ? ` (${count(note.count)} times)` : ""}
            {note.detail ? `; ${note.detail}` : ""}
          </li>
        ))}
      </ul>
    </div>
  );
}
