// The frame around the views: which run, which view, how loading goes, help.

import { useEffect, useRef } from "preact/hooks";
import { bytes } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { Empty, Trouble } from "../parts/states.tsx";
import { TipLayer, tipOn } from "../parts/tip.tsx";
import { runCommand } from "../session/commands.ts";
import { href, param, pushParams, replaceView, route } from "../session/route.ts";
import {
  following,
  isOffered,
  loading,
  online,
  run,
  runs,
  runsProblem,
  serviceAlone,
  source,
} from "../session/state.ts";
import { theme, toggleTheme } from "../session/theme.ts";
import { useLoaded } from "../session/use-ask.ts";
import { Dialogs } from "./dialogs.tsx";
import { RunPicker } from "./run-picker.tsx";
import { navigation, VIEWS, WITHOUT_RUN } from "./views.ts";

export function App() {
  // A watched service without a trace: its page is where everything begins.
  const away = serviceAlone.value && !isOffered(route.value.view);
  useEffect(() => {
    if (away) replaceView("service");
  }, [away]);
  const view = VIEWS.find((v) => v.id === (away ? "service" : route.value.view));
  const id = run.value?.state === "failed" ? undefined : run.value?.id;
  const pages = useLoaded(id === undefined ? undefined : String(id), (signal) => source.shown(id ?? 0, signal));
  const main = useRef<HTMLElement>(null);
  const Shown = view?.component;
  const what = view?.id === "service" ? runs.value?.service?.name : run.value?.label;
  const title = [what, view?.name, "Stepscope"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Top />
      <nav class="nav" aria-label="Views">
        {navigation(pagesOf(pages.data), view?.id).map((v) => (
          <a key={v.id} href={href(v.id)} aria-current={v === view ? "page" : undefined}>
            {v.name}
            <span class="kbd" aria-hidden="true">
              {v.digit}
            </span>
          </a>
        ))}
      </nav>
      <main class="main" ref={main} tabIndex={-1}>
        <h1 class="sr-only">{view?.name ?? "Not found"}</h1>
        <Body needsRun={!WITHOUT_RUN.has(view?.id ?? "")}>
          {Shown ? (
            <div class={view?.full ? "full" : "page"}>
              <Shown />
            </div>
          ) : (
            <Empty title="No such view." hint="Choose one on the left." />
          )}
        </Body>
      </main>
      <Dialogs />
      <TipLayer />
    </div>
  );
}

/** The pages with something to show: those of the run, the baselines' if some are open, and a watched service's. */
function pagesOf(ofRun: string[] | undefined): string[] | undefined {
  const besides: string[] = [];
  if (runs.value?.history === true) besides.push("history");
  if (runs.value?.service) besides.push("service");
  if (besides.length === 0) return ofRun;
  return runs.value?.runs.length === 0 ? besides : ofRun && [...ofRun, ...besides];
}

/** What narrows all views, and the way out of it. */
function Chip(props: { name: string; text: string; clear: Record<string, undefined> }) {
  return (
    <button type="button" class="chip" title={props.text} onClick={() => pushParams(props.clear)}>
      {props.name}
      <Icon name="close" size={12} />
      <span class="sr-only">: {props.text}</span>
    </button>
  );
}

/** The view, or what replaces it: no run, a failed one. */
function Body({ children, needsRun }: { children: preact.ComponentChildren; needsRun: boolean }) {
  if (!runs.value)
    return runsProblem.value ? <Trouble problem={runsProblem.value} /> : <div class="skeleton" />;
  const chosen = run.value;
  if (!needsRun) return <div class="body">{children}</div>;
  if (!chosen) {
    if (runs.value.problem) return <Trouble problem={runs.value.problem} />;
    const hint = runs.value.watching
      ? "Watching this folder: new traces appear here automatically."
      : "Run `stepscope view` with a trace or a folder.";
    return <Empty title="No traces yet." hint={hint} />;
  }
  if (chosen.state === "failed" && chosen.error) {
    return (
      <div class="page">
        <Trouble problem={chosen.error} />
      </div>
    );
  }
  return (
    // One that grows has a new number each time, and keeps its place.
    <div class="body" key={chosen.recording ? chosen.path : chosen.id}>
      {children}
    </div>
  );
}

function Top() {
  const report = runs.value?.report;
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <header class="top-wrap">
      <div class="top">
        <a class="brand" href={href(serviceAlone.value ? "service" : "overview")}>
          Stepscope
        </a>
        <RunPicker />
        {param("step") !== undefined && (
          <Chip name={`step ${param("step")}`} text="Show all steps" clear={{ step: undefined }} />
        )}
        {param("device") !== undefined && (
          <Chip name={`device ${param("device")}`} text="Show all devices" clear={{ device: undefined }} />
        )}
        <Recording />
        <span class="grow" />
        <Loading />
        <button type="button" class="palette-button" onClick={() => runCommand("palette")}>
          <Icon name="search" />
          <span class="wide-text">Commands</span>
          <span class="kbd wide-only" aria-hidden="true">
            Ctrl K
          </span>
        </button>
        <button
          type="button"
          class="icon-button"
          onClick={toggleTheme}
          aria-label={`Switch to ${other} theme`}
          {...tipOn(`Switch to ${other} theme`)}
        >
          <Icon name={theme.value === "dark" ? "sun" : "moon"} />
        </button>
        <button
          type="button"
          class="icon-button"
          onClick={() => runCommand("help")}
          aria-label="Help"
          {...tipOn("Help: keyboard shortcuts and colors (?)")}
        >
          <Icon name="help" />
        </button>
      </div>
      {!online.value && (
        <div class="notice" role="alert">
          The server is not responding. What you see stays usable; run <code>stepscope view</code> again to load
          more.
        </div>
      )}
      {report && report.left_out.length > 0 && (
        <div class="notice" role="note">
          This report from {report.made} omits: {report.left_out.join("; ")}.
        </div>
      )}
    </header>
  );
}

/** Shown while the run is still being recorded: holds the page still, or lets it follow. */
function Recording() {
  if (!run.value?.recording) return null;
  const follows = following.value;
  const text = follows ? "Hold the page still; recording goes on" : "Show what was recorded since";
  return (
    <button
      type="button"
      class={`chip recording ${follows ? "live" : ""}`}
      onClick={() => {
        following.value = !follows;
      }}
      {...tipOn(text)}
    >
      <span class="dot" aria-hidden="true" />
      {follows ? "Recording" : "Paused"}
      <span class="sr-only">: {text}</span>
    </button>
  );
}

function Loading() {
  const at = loading.value;
  if (!at) return null;
  const share = at.total > 0 ? at.read / at.total : 0;
  return (
    <span class="loading" role="status">
      Reading {bytes(at.read)}
      {at.total > 0 ? ` of ${bytes(at.total)}` : ""}
      <progress max={1} value={share} aria-label="Reading the trace" />
    </span>
  );
}
