// Which run is looked at. A folder may hold hundreds: typing narrows the list.

import { useState } from "preact/hooks";
import type { ListedRun } from "../data/types.ts";
import { bytes } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";
import { matching, runNames } from "../session/names.ts";
import { pushParams } from "../session/route.ts";
import { run, runs } from "../session/state.ts";

/** From how many runs on a field to search them pays. */
const MAX_UNSEARCHED_RUNS = 8;

/** Another run has other steps, devices and slices: what pointed at them is dropped. */
function choose(id: number): void {
  pushParams({
    run: id,
    step: undefined,
    device: undefined,
    sel: undefined,
    from: undefined,
    to: undefined,
    open: undefined,
  });
}

export function RunPicker() {
  const all = runs.value?.runs ?? [];
  const now = run.value;
  const names = runNames(all);
  if (all.length === 0 && runs.value?.service)
    return <span class="quiet run-name">{runs.value.service.name}</span>;
  if (all.length <= 1)
    return (
      <span class="quiet run-name" title={now?.path}>
        <bdi>{now?.label}</bdi>
      </span>
    );
  return (
    <Menu
      name="Runs"
      class="run-button"
      title={now?.path}
      label={
        <>
          <span class="sr-only">Run: </span>
          <bdi class="run-name">{now && names.get(now.id)}</bdi>
          <Icon name="down" size={12} />
        </>
      }
    >
      {(close) => <RunList all={all} names={names} now={now} close={close} />}
    </Menu>
  );
}

function RunList(props: {
  all: ListedRun[];
  names: Map<number, string>;
  now: ListedRun | undefined;
  close: () => void;
}) {
  const { all, now, close } = props;
  const [text, setText] = useState("");
  const found = matching(all, text);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !(event.currentTarget instanceof HTMLElement)) return;
    event.preventDefault();
    const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("input, button")];
    const at = stops.indexOf(document.activeElement as HTMLElement);
    stops[Math.max(0, Math.min(stops.length - 1, at + step))]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrows move between the runs
    <div class="run-list" onKeyDown={onKeyDown}>
      {all.length > MAX_UNSEARCHED_RUNS && (
        <input
          type="search"
          aria-label="Find a run"
          placeholder={`Find one of ${all.length} runs`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            const first = found[0];
            if (event.key !== "Enter" || !first) return;
            choose(first.id);
            close();
          }}
        />
      )}
      <ul>
        {found.map((r) => (
          <li key={r.id}>
            <button
              type="button"
              title={r.path}
              aria-current={r.id === now?.id ? "true" : undefined}
              data-first={r.id === now?.id && all.length <= MAX_UNSEARCHED_RUNS ? "" : undefined}
              onClick={() => {
                choose(r.id);
                close();
              }}
            >
              <bdi class="run-name">{props.names.get(r.id)}</bdi>
              <span class="quiet">{r.state === "failed" ? "unreadable" : r.bytes ? bytes(r.bytes) : ""}</span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="quiet">No runs match.</p>}
    </div>
  );
}
