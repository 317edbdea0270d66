// One side of the comparison: its recording, and more recordings of the same program.

import type { ListedRun } from "../../data/types.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { toggled, withFirst } from "./sides.ts";

interface Props {
  label: string;
  side: readonly number[];
  /** What the other side has: no recording is on both. */
  other: readonly number[];
  runs: readonly ListedRun[];
  names: Map<number, string>;
  /** A report has the comparison of its own runs only. */
  fixed: boolean;
  onChange: (side: number[]) => void;
}

export function SidePicker(props: Props) {
  const { label, side, runs, names } = props;
  const others = runs.filter((run) => run.id !== side[0] && !props.other.includes(run.id));
  const more = side.length - 1;
  return (
    <span class="compare-side">
      <label>
        {label}
        <select
          value={String(side[0])}
          disabled={props.fixed}
          onChange={(event) => props.onChange(withFirst(side, Number(event.currentTarget.value)))}
        >
          {runs.map((run) => (
            <option key={run.id} value={String(run.id)}>
              {names.get(run.id)}
            </option>
          ))}
        </select>
      </label>
      {!props.fixed && (others.length > 0 || more > 0) && runs.length > 2 && (
        <Menu
          name={`More recordings of ${label}`}
          class="compare-more"
          label={
            <>
              {more === 0 ? "More recordings" : `and ${more} more`}
              <span class="sr-only"> of {label}</span>
              <Icon name="down" size={12} />
            </>
          }
        >
          {() => (
            <fieldset class="compare-recordings">
              <legend>Repeated recordings of the same program show how much runs differ.</legend>
              {others.map((run) => (
                <label key={run.id}>
                  <input
                    type="checkbox"
                    checked={side.includes(run.id)}
                    onChange={() => props.onChange(toggled(side, run.id))}
                  />
                  <bdi>{names.get(run.id)}</bdi>
                </label>
              ))}
            </fieldset>
          )}
        </Menu>
      )}
    </span>
  );
}
