// Two timelines, one above the other: a step of each from its start, at one scale, moved and zoomed together.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Layout, StepInfo } from "../../data/types.ts";
import { shortName, signedTime, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Command, register } from "../../session/commands.ts";
import { href, param, setParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { useLoaded } from "../../session/use-ask.ts";
import { Board, partsIn } from "../timeline/board.tsx";
import { Controller } from "../timeline/controller.ts";
import { Model } from "../timeline/model.ts";
import type { Held } from "../timeline/motion.ts";
import { lengthOf, link, medianStep, parseWindow, stepsOf, windowOf, windowText } from "./link.ts";
import { signedShare, toneOf } from "./waterfall-chart.tsx";

interface Pair {
  runs: [number, number];
  layouts: [Layout, Layout];
}

/** The URL is written when nothing has moved for this long. */
const QUIET_MS = 300;

export function Timelines({ a, b }: { a: number; b: number }) {
  const loaded = useLoaded<Pair>(`layouts ${a} ${b}`, async () => ({
    runs: [a, b],
    layouts: await Promise.all([source.layout(a), source.layout(b)]),
  }));
  return (
    <Await of={loaded}>
      {(pair) =>
        pair.layouts.every((layout) => layout.rows.some((row) => row.count > 0)) ? (
          <Both key={pair.runs.join()} pair={pair} />
        ) : (
          <Card title="Timelines">
            <Empty title="Nothing to draw." hint="One of the traces contains no slices." />
          </Card>
        )
      }
    </Await>
  );
}

function chosenStep(layout: Layout, asked: string | undefined): StepInfo {
  const steps = stepsOf(layout);
  return steps.find((one) => String(one.step) === asked) ?? (medianStep(steps) as StepInfo);
}

function Both({ pair }: { pair: Pair }) {
  const models = useMemo(
    () => [0, 1].map((side) => modelOf(pair.runs[side]!, pair.layouts[side]!)) as [Model, Model],
    [pair],
  );
  const steps = [
    chosenStep(pair.layouts[0], param("stepa")),
    chosenStep(pair.layouts[1], param("stepb")),
  ] as const;
  const [stepA, stepB] = steps;
  const controllers = useRef<[Controller | undefined, Controller | undefined]>([undefined, undefined]);
  /** The one under the pointer last: keys zoom where the pointer is. */
  const active = useRef(0);
  useLinked(models, steps);
  const fit = () => {
    const { from, to } = windowOf(stepA, stepB);
    const at = stepA.start_ns;
    controllers.current[0]?.motion.glide({ from: from + at, to: to + at }, performance.now());
  };
  useKeys(
    () => controllers.current[active.current],
    fit,
    () => {
      for (const one of controllers.current) one?.actions.clear();
    },
  );
  const isWhole = stepA.step === -1 && stepB.step === -1;
  const half = (side: 0 | 1) => (
    <Half
      key={side}
      name={side === 0 ? "A" : "B"}
      model={models[side]}
      onController={(controller) => {
        controllers.current[side] = controller;
      }}
      onPointer={() => {
        active.current = side;
      }}
    />
  );
  return (
    <Card
      title={isWhole ? "Both recordings, from their start" : "One step of each, from its start"}
      text="Both timelines have one scale and count from where their step begins, so lengths can be compared by eye. Lines mark where steps begin. Ctrl+wheel zooms, Shift+wheel moves, drag measures; W, S, A and D do it from the keyboard, 0 shows the steps again."
      note={
        <span class={`num ${toneOf(lengthOf(stepB) - lengthOf(stepA))}`}>
          {lengthOf(stepA) === lengthOf(stepB)
            ? "Both take as long"
            : `${signedTime(lengthOf(stepB) - lengthOf(stepA))} (${signedShare(lengthOf(stepB) / lengthOf(stepA) - 1)})`}
        </span>
      }
      class="compare-timelines"
    >
      <div class="toolbar">
        <StepChoice label="Step of A" name="stepa" layout={pair.layouts[0]} step={stepA} />
        <StepChoice label="Step of B" name="stepb" layout={pair.layouts[1]} step={stepB} />
        <button type="button" onClick={fit}>
          {isWhole ? "Fit" : "Fit steps"}
        </button>
        <span class="grow" />
        <Difference models={models} />
      </div>
      {half(0)}
      {half(1)}
    </Card>
  );
}

/** Its counters are folded: in half the height slices come first. */
function modelOf(run: number, layout: Layout): Model {
  const model = new Model(run, source, layout);
  model.folded.value = new Set(["counters"]);
  return model;
}

/** Aligns the two by their steps; the window is in the URL, counted from where the steps begin. */
function useLinked(models: [Model, Model], steps: readonly [StepInfo, StepInfo]): void {
  const [a, b] = models;
  const [stepA, stepB] = steps;
  useEffect(() => {
    a.origin = stepA.start_ns;
    b.origin = stepB.start_ns;
    const part = link(a, b, [stepA.start_ns, stepB.start_ns]);
    const { from, to } = parseWindow(param("win")) ?? windowOf(stepA, stepB);
    a.view = { from: from + stepA.start_ns, to: to + stepA.start_ns };
    const usual = windowText(windowOf(stepA, stepB));
    let timer: ReturnType<typeof setTimeout>;
    const stop = a.onMove(() => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const text = windowText({ from: a.view.from - stepA.start_ns, to: a.view.to - stepA.start_ns });
        setParams({ win: text === usual ? undefined : text });
      }, QUIET_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
      part();
    };
  }, [a, b, stepA.start_ns, stepB.start_ns]);
}

function Half(props: {
  name: string;
  model: Model;
  onController: (controller: Controller | undefined) => void;
  onPointer: () => void;
}) {
  const { model, name } = props;
  const root = useRef<HTMLDivElement>(null);
  const [controller, setController] = useState<Controller>();
  useEffect(() => {
    if (!root.current) return;
    const made = new Controller(model, partsIn(root.current), {
      gpu: param("gl") !== "0",
      focusSearch() {},
      embedded: true,
    });
    setController(made);
    props.onController(made);
    return () => {
      setController(undefined);
      props.onController(undefined);
      made.close();
    };
  }, [model]);
  return (
    <section class="compare-half" aria-label={`Timeline of ${name}`} onPointerEnter={props.onPointer}>
      <h3>
        {name} <Chosen model={model} />
      </h3>
      <div class="tl" ref={root}>
        <Board model={model} controller={controller} of={name} />
      </div>
      <div class="sr-only" role="status" aria-live="polite">
        {model.announcement}
      </div>
    </section>
  );
}

/** What was clicked: its length, and the way to all about it. */
function Chosen({ model }: { model: Model }) {
  const details = model.selection.value?.details;
  const area = model.area.value;
  if (area) return <span class="compare-chosen num">{`${time(area.to - area.from)} measured`}</span>;
  if (!details) return <span class="compare-chosen quiet">Click a slice to see its length.</span>;
  const { view } = model;
  const to = {
    run: model.run,
    sel: details.id,
    from: Math.round(view.from),
    to: Math.round(view.to),
    step: undefined,
  };
  return (
    <span class="compare-chosen">
      <bdi title={details.name}>{shortName(details.name).slice(0, 300)}</bdi>
      <b class="num">{details.dur_ns > 0 ? time(details.dur_ns) : "instant"}</b>
      <a href={href("timeline", to)}>
        <Icon name="jump" size={14} /> Timeline
      </a>
    </span>
  );
}

/** How the slices chosen in both differ. */
function Difference({ models }: { models: [Model, Model] }) {
  const [a, b] = models.map((model) => model.selection.value?.details?.dur_ns ?? 0);
  if (!a || !b) return null;
  return (
    <span class="num">
      {`Selected: ${time(a)} → ${time(b)} `}
      <span class={toneOf(b - a)}>{`${signedTime(b - a)} (${signedShare(b / a - 1)})`}</span>
    </span>
  );
}

function StepChoice(props: { label: string; name: string; layout: Layout; step: StepInfo }) {
  const steps = stepsOf(props.layout);
  if (steps.length < 2) return null;
  const usual = medianStep(steps);
  return (
    <label>
      {props.label}
      <select
        value={String(props.step.step)}
        onChange={(event) => setParams({ [props.name]: event.currentTarget.value, win: undefined })}
      >
        {steps.map((one) => (
          <option key={one.step} value={String(one.step)}>
            {`${one.step}: ${time(lengthOf(one))}${one === usual ? ", median" : ""}`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The keys of the timeline that make sense for two; the arrows up and down scroll the page. */
function useKeys(of: () => Controller | undefined, fit: () => void, clear: () => void): void {
  const now = useRef({ of, fit, clear });
  now.current = { of, fit, clear };
  useEffect(() => {
    const one = (id: string, name: string, keys: string[], run: (event?: KeyboardEvent) => void): Command => ({
      id: `compare-${id}`,
      name,
      view: "compare",
      keys,
      run,
    });
    const held = (id: Held, name: string, keys: string[]) =>
      one(id, name, keys, (event) => now.current.of()?.motion.hold(id, event?.code, performance.now()));
    const stop = register([
      held("in", "Zoom in on both timelines", ["KeyW", "Equal"]),
      held("out", "Zoom out of both timelines", ["KeyS", "Minus"]),
      held("left", "Move both timelines left", ["KeyA", "ArrowLeft"]),
      held("right", "Move both timelines right", ["KeyD", "ArrowRight"]),
      one("fit", "Show the steps", ["Digit0"], () => now.current.fit()),
      one("clear", "Clear the selection", ["Escape"], () => now.current.clear()),
    ]);
    const control = new AbortController();
    addEventListener("keyup", (event) => now.current.of()?.motion.release(event.code), {
      signal: control.signal,
    });
    addEventListener("blur", () => now.current.of()?.motion.releaseAll(), { signal: control.signal });
    return () => {
      control.abort();
      stop();
    };
  }, []);
}
