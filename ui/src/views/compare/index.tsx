// Two runs side by side: their numbers and where their time went.

import { digits, percent, time } from "../../parts/format.ts";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { runNames } from "../../session/names.ts";
import { param, setParams } from "../../session/route.ts";
import { run, runs, source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { causeLines, change, figureLines, type Line, type RunFigures } from "./metrics.ts";
import "./style.css";

export function Compare() {
  const all = runs.value?.runs ?? [];
  const names = runNames(all);
  const a = chosen("a") ?? run.value?.id;
  const b = chosen("b") ?? all.find((r) => r.id !== a)?.id;
  const figures = useLoaded(a === undefined || b === undefined ? undefined : `${a} ${b}`, (signal) =>
    Promise.all([figuresOf(a ?? 0, signal), figuresOf(b ?? 0, signal)]),
  );
  if (all.length < 2) return <OneRun />;
  const pick = (which: string, label: string, value: number | undefined) => (
    <label>
      {label}
      <select value={String(value)} onChange={(event) => setParams({ [which]: event.currentTarget.value })}>
        {all.map((r) => (
          <option key={r.id} value={String(r.id)}>
            {names.get(r.id)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <div class="toolbar compare-runs">
        {pick("a", "Baseline (A)", a)}
        {pick("b", "Candidate (B)", b)}
        <button type="button" onClick={() => setParams({ a: b, b: a })}>
          Swap
        </button>
      </div>
      <Await of={figures}>
        {([before, after]) => (
          <div class="two-columns even">
            <Card title="Metrics" note="first device, mean step">
              <Lines lines={figureLines(before, after)} label="Metrics" />
            </Card>
            <Card title="Where step time goes" note="largest changes first">
              <Lines lines={causeLines(before, after)} label="Causes" />
            </Card>
          </div>
        )}
      </Await>
      <p class="quiet">
        Differences of means. Operators and kernels are not matched between the runs, and a difference may be
        noise between steps.
      </p>
    </>
  );
}

function chosen(name: string): number | undefined {
  const id = Number(param(name));
  return param(name) !== undefined && runs.value?.runs.some((r) => r.id === id) ? id : undefined;
}

async function figuresOf(id: number, signal: AbortSignal): Promise<RunFigures> {
  const [steps, gpu, account] = await Promise.all(
    ["steps", "gpu", "account"].map((command) => source.ask(id, command, {}, signal)),
  );
  return { steps, gpu, account } as unknown as RunFigures;
}

function OneRun() {
  return (
    <Card title="Compare two runs">
      <Empty
        title="Only one run is open."
        hint="Open two traces, or a folder of traces, to compare them:"
        code="stepscope view before.pt.trace.json.gz after.pt.trace.json.gz"
      />
    </Card>
  );
}

function Lines({ lines, label }: { lines: Line[]; label: string }) {
  const largest = Math.max(...lines.map((line) => Math.abs(change(line)?.by ?? 0)), 1e-12);
  return (
    <table class="plain compare" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{label === "Causes" ? "Cause" : "Metric"}</th>
          <th scope="col" class="num">
            A
          </th>
          <th scope="col" class="num">
            B
          </th>
          <th scope="col" class="num">
            Change
          </th>
          {label === "Causes" && (
            <th scope="col">
              <span class="sr-only">decrease or increase</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={line.label}>
            <td class="label">{line.label}</td>
            <td class="num">{shown(line, line.a)}</td>
            <td class="num">{shown(line, line.b)}</td>
            <td class="num">{changeText(line)}</td>
            {label === "Causes" && (
              <td class="num">
                <ChangeBar share={(change(line)?.by ?? 0) / largest} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shown(line: Line, value: number | undefined): string {
  if (value === undefined) return "–";
  return line.unit === "ns" ? time(value) : percent(value);
}

function changeText(line: Line): string {
  const found = change(line);
  if (!found) return "";
  const sign = found.by > 0 ? "+" : found.by < 0 ? "−" : "";
  if (line.unit === "share") return `${sign}${digits(Math.abs(found.by) * 100)} points`;
  return `${sign}${time(Math.abs(found.by))}${relativeText(found.relative)}`;
}

/** `(+12.3 %)`; beyond ten times a percentage says little: `(×42)`. */
function relativeText(relative: number | undefined): string {
  if (relative === undefined) return "";
  if (relative >= 9) return ` (×${digits(relative + 1)})`;
  return ` (${relative < 0 ? "−" : "+"}${percent(Math.abs(relative))})`;
}

/** Less to the left, more to the right of a middle line. */
function ChangeBar({ share }: { share: number }) {
  const width = `${Math.min(1, Math.abs(share)) * 50}%`;
  return (
    <span class="change-bar" aria-hidden="true">
      <span
        class={share < 0 ? "less" : "more"}
        style={share < 0 ? { right: "50%", width } : { left: "50%", width }}
      />
    </span>
  );
}
