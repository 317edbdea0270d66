// The stacked allocations over time, with what the colors mean and how much of it could be drawn.

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { DrawnPlace } from "../../../data/wire.ts";
import { bytes, count, many, percent, time } from "../../../parts/format.ts";
import { shortPath } from "../../../parts/source-link.tsx";
import { Ticked, Trouble } from "../../../parts/states.tsx";
import { hideTip, showTip } from "../../../parts/tip.tsx";
import { theme } from "../../../session/theme.ts";
import { Board } from "./board.ts";
import { css, lineColor, sizeColor } from "./colors.ts";
import { Gestures, type Pointed } from "./gestures.ts";
import type { Model } from "./model.ts";

interface Props {
  model: Model;
  onChoose: (state: number, id: number | undefined) => void;
}

const LEGEND_ROWS = 8;
const SIZES = [4 * 1024, 64 * 1024, 1024 ** 2, 16 * 1024 ** 2, 256 * 1024 ** 2, 4 * 1024 ** 3];

export function Chart({ model, onChoose }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const now = useRef({ onChoose });
  now.current = { onChoose };
  const [spoken, say] = useState("");
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const board = new Board(element, model);
    // For measurements: frame times of the picture.
    Object.assign(element, { board });
    const gestures = new Gestures(element, board, model, {
      hover: (at) => tip(board, model, at),
      choose(at) {
        const state = board.stateAt(at.x);
        if (!state) return;
        const picture = model.pictureAt(at.x);
        const id = at.drawn === undefined ? undefined : picture?.id[at.drawn];
        // A report has two states only, and buttons for them.
        if (model.isReport) {
          now.current.onChoose(model.state.value, id);
          return;
        }
        model.clicked = { state: state.state, x: Math.max(at.x, state.atNs) };
        say(`${bytes(state.total)} in use at event ${count(state.state)}`);
        now.current.onChoose(state.state, id);
      },
      clear() {
        if (model.chosen.value !== undefined) now.current.onChoose(model.state.value, undefined);
        else model.show(model.home);
      },
      focus() {
        const life = model.life.value;
        if (!life) return;
        const air = Math.max(4, (life.to - life.from) * 0.15);
        model.show({ ...model.window, from: life.from - air, to: life.to + air });
      },
      peak: () => now.current.onChoose(model.device.peak_state, undefined),
    });
    const stop = effect(() => {
      theme.value;
      model.chosen.value;
      model.state.value;
      model.lit.value;
      model.life.value;
      model.colorBy.value;
      board.retheme();
    });
    return () => {
      stop();
      gestures.close();
      board.close();
      hideTip();
    };
  }, [model]);
  const what = model.stacked.of === "segments" ? "segments" : "allocations";
  return (
    <>
      <div
        ref={host}
        class="snap-chart"
        role="application"
        aria-label={`${what === "segments" ? "Segments" : "Allocations"} over time`}
        aria-description="W and S zoom, A and D move, 0 shows everything, P goes to the peak. The table below shows the selected state."
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys zoom and move the picture
        tabIndex={0}
      />
      <div class="sr-only" role="status" aria-live="polite">
        {spoken}
      </div>
      {model.problem.value && <Trouble problem={model.problem.value} />}
      <Legend model={model} />
      <Notes model={model} what={what} />
    </>
  );
}

function tip(board: Board, model: Model, at: Pointed | undefined): void {
  const state = at && board.stateAt(at.x);
  const pointer = board.pointer;
  if (!at || !state || !pointer) {
    hideTip();
    return;
  }
  const picture = model.pictureAt(at.x);
  const box = board.canvas.getBoundingClientRect();
  const [x, y] = [box.left + pointer.x, box.top + pointer.y];
  const drawn = at.drawn;
  const place = drawn === undefined ? undefined : picture?.head.places[picture.place[drawn]!]?.place;
  showTip(
    { left: x, right: x, top: y, bottom: y },
    <div class="snap-tip num">
      {drawn !== undefined && picture && (
        <p>
          <b>{bytes(picture.bytes[drawn]!)}</b> <bdi>{place?.function ?? "other lines"}</bdi>
          {place?.file && (
            <span class="quiet">
              <br />
              <bdi>
                {shortPath(place.file)}:{place.line}
              </bdi>
            </span>
          )}
        </p>
      )}
      <p class="quiet">
        {model.device.duration_ns !== null &&
          `${time(model.axis === "time" ? Math.max(at.x, state.atNs) : state.atNs)} · `}
        event {count(state.state)} · {bytes(state.total)}{" "}
        {model.stacked.of === "segments" ? "reserved" : "in use"}
        {model.stacked.of !== "segments" && `, ${bytes(state.reserved)} reserved`}
      </p>
    </div>,
    true,
  );
}

function Legend({ model }: { model: Model }) {
  const [all, showAll] = useState(false);
  const dark = theme.value === "dark";
  const picture = model.shown.value;
  if (!picture) return <ul class="legend snap-legend" />;
  if (model.colorBy.value === "size")
    return (
      <ul class="legend snap-legend">
        {SIZES.map((size) => (
          <li key={size}>
            <span class="swatch" style={{ background: css(sizeColor(size, dark)) }} /> {bytes(size)}
          </li>
        ))}
      </ul>
    );
  const { places, other_places } = picture.head;
  const shown = places.slice(0, all ? 60 : LEGEND_ROWS);
  const hidden = places.length - shown.length + other_places;
  return (
    <ul class="legend snap-legend" aria-label="Lines by their share of the picture">
      {model.stacked.of !== "segments" && (
        <li class="snap-line">
          <span class="mem-key reserved" /> {model.stacked.of === "pool" ? "reserved, all pools" : "reserved"}
        </li>
      )}
      {shown.map((one, at) => (
        <li key={at}>
          <button
            type="button"
            class="snap-line"
            aria-pressed={model.lit.value === at}
            title={one.place.file ? `${one.place.file}:${one.place.line}` : one.place.function}
            onClick={() => {
              model.lit.value = model.lit.value === at ? undefined : at;
            }}
          >
            <span class="swatch" style={{ background: css(lineColor(one.place.hash, dark)) }} />
            <bdi>{lineName(one)}</bdi> <span class="quiet num">{percent(one.share)}</span>
          </button>
        </li>
      ))}
      {hidden > 0 && (
        <li>
          <button type="button" class="snap-line quiet" onClick={() => showAll(!all)}>
            {many(hidden, all ? "smaller line" : "more line")}
          </button>
        </li>
      )}
      {all && (
        <li>
          <button type="button" class="snap-line quiet" onClick={() => showAll(false)}>
            Show fewer
          </button>
        </li>
      )}
    </ul>
  );
}

function lineName({ place }: DrawnPlace): string {
  const file = place.file.split(/[/\\]/).pop();
  return file ? `${place.function} ${file}:${place.line}` : place.function;
}

/** What could not be drawn one by one. */
function Notes({ model, what }: { model: Model; what: string }) {
  const picture = model.shown.value;
  if (!picture) return <p class="quiet snap-notes">&nbsp;</p>;
  const { alive, drawn, columns, to, from } = picture.head;
  const hidden = Math.max(0, alive - drawn);
  const perColumn = (to - from) / columns;
  if (model.device.states === 1)
    return (
      <p class="quiet snap-notes">
        <Ticked text="The snapshot has no history. Call `torch.cuda.memory._record_memory_history()` before the program allocates to see its memory over time." />
      </p>
    );
  return (
    <p class="quiet snap-notes">
      {count(drawn)} of the {count(alive)} {what} in this window are drawn.
      {hidden > 0 && (
        <>
          {" "}
          {count(hidden)} are under a pixel high, freed within one column, or outside of the bytes in sight:{" "}
          {model.isReport ? (
            <Ticked text="open the file with `stepscope view` to zoom in on them." />
          ) : (
            "zoom in to see them."
          )}
        </>
      )}
      {model.axis === "entry" &&
        perColumn > 1 &&
        " Each column shows its highest moment, so no peak is lost; its paler part is above its lowest moment."}
    </p>
  );
}
