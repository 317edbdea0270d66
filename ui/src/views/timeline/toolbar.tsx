// Above the timeline: search, what is in sight, what can be switched on.

import { count, many, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import type { Controller } from "./controller.ts";
import type { Model } from "./model.ts";

interface Props {
  model: Model;
  controller: Controller | undefined;
}

export function Toolbar({ model, controller }: Props) {
  const { empty } = model.laneLayout.value;
  const { ledger } = model.layout;
  return (
    <div class="tl-toolbar" role="toolbar" aria-label="Timeline">
      <Search model={model} controller={controller} />
      <span class="tl-grow" />
      {model.trouble.value && (
        <span class="tl-trouble" role="status" title={model.trouble.value.hint}>
          Some data could not be loaded. Retrying…
        </span>
      )}
      {empty > 0 && (
        <button
          type="button"
          aria-pressed={model.showEmpty.value}
          onClick={() => {
            model.showEmpty.value = !model.showEmpty.value;
          }}
        >
          {many(empty, "empty lane")}
        </button>
      )}
      <PathButton model={model} />
      <button type="button" onClick={() => controller?.actions.showAll()} title="Show the whole trace (0)">
        Whole trace
      </button>
      <span
        class="quiet num tl-total"
        title={`Every slice and instant is drawn. Where several share a pixel, its shade is the share of time they cover. Arrows (${count(ledger.flows)}) are shown for the selection.`}
      >
        {`${count(ledger.drawn_slices + ledger.drawn_points)} events · ${time(model.extent)}`}
      </span>
    </div>
  );
}

function PathButton({ model }: { model: Model }) {
  const problem = model.pathProblem.value;
  return (
    <button
      type="button"
      aria-pressed={model.showPath.value}
      title={
        problem
          ? `${problem.message} ${problem.hint}`
          : "The chain of work and waiting that determined how long the run took (C)"
      }
      onClick={() => {
        model.showPath.value = !model.showPath.value;
      }}
    >
      {problem && model.showPath.value ? "No critical path" : "Critical path"}
    </button>
  );
}

function Search({ model, controller }: Props) {
  const { text, exact } = model.query.value;
  const hits = model.hits.value;
  const at = model.hitAt.value;
  const set = (value: string) => {
    model.query.value = { text: value, exact: false };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      void controller?.finder.go(!event.shiftKey);
    } else if (event.key === "Escape" && event.currentTarget instanceof HTMLElement) {
      event.currentTarget.blur();
      event.stopPropagation();
      if (text) set("");
    }
  };
  return (
    <search class="tl-search">
      <input
        type="search"
        aria-label="Search slices by name"
        placeholder="Search names or /regex/ ( / )"
        value={text}
        spellcheck={false}
        onInput={(event) => set(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {text !== "" && (
        <span class="tl-found">
          <span class="quiet num">
            {model.searchProblem.value
              ? model.searchProblem.value.message
              : hits
                ? `${at === undefined ? "" : `${count(at)} of `}${count(hits.total)}${exact ? " exact" : ""} · ${time(hits.total_ns)}`
                : "…"}
          </span>
          <button
            type="button"
            aria-label="Previous match"
            title="Previous match (Shift+Enter)"
            disabled={!hits?.total}
            onClick={() => void controller?.finder.go(false)}
          >
            <span class="tl-back">
              <Icon name="chevron" size={14} />
            </span>
          </button>
          <button
            type="button"
            aria-label="Next match"
            title="Next match (Enter)"
            disabled={!hits?.total}
            onClick={() => void controller?.finder.go(true)}
          >
            <Icon name="chevron" size={14} />
          </button>
          {hits && hits.names.length > 0 && <Names model={model} />}
        </span>
      )}
    </search>
  );
}

/** The names found, most time first; one click searches for exactly this one. */
function Names({ model }: { model: Model }) {
  const hits = model.hits.value;
  if (!hits) return null;
  const total = hits.names.length + hits.names_more;
  return (
    <details class="tl-found-names">
      <summary>{many(total, "name")}</summary>
      <ul>
        {hits.names.map((name) => (
          <li key={name.id}>
            <button
              type="button"
              title={name.name.slice(0, 1000)}
              onClick={(event) => {
                model.query.value = { text: name.name, exact: true };
                event.currentTarget.closest("details")?.removeAttribute("open");
              }}
            >
              <bdi>{name.name}</bdi>
              <span class="quiet num">{`${count(name.count)} · ${time(name.total_ns)}`}</span>
            </button>
          </li>
        ))}
        {hits.names_more > 0 && <li class="quiet">{`and ${count(hits.names_more)} more`}</li>}
      </ul>
    </details>
  );
}
