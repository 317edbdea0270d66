// The tree of modules as a table: rows open and close, arrow keys walk through it. Only rows in sight are in the page.

import { useEffect, useState } from "preact/hooks";
import type { Module } from "../../data/wire.ts";
import { useFocusedRow } from "../../parts/focused-row.ts";
import { Icon } from "../../parts/icons.tsx";
import { inSight, ROW_PX } from "../../parts/rows.ts";
import { Head } from "../../parts/table-head.tsx";
import type { ModuleColumn } from "./columns.tsx";
import type { VisibleRow } from "./tree.ts";

interface Props {
  rows: readonly Module[];
  seen: VisibleRow[];
  columns: ModuleColumn[];
  sort: string | undefined;
  onSort: (field: string) => void;
  onToggle: (index: number) => void;
  onFlame: (row: Module) => void;
  /** Not where modules have no slices of their own. */
  onTimeline: ((row: Module) => void) | undefined;
}

export function TreeTable(props: Props) {
  const { seen, columns } = props;
  const [room, setRoom] = useState(600);
  const { scroller, top, setTop, at, setAt, move } = useFocusedRow(seen.length, (row) => row * ROW_PX);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setRoom(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const current = Math.min(at, seen.length - 1);
  const { first, last } = inSight(top, room, seen.length, undefined);

  const onKeyDown = (event: KeyboardEvent) => {
    const row = seen[current];
    if (!row || !(event.target instanceof HTMLTableRowElement) || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(room / ROW_PX) - 2);
    const parent = () => {
      for (let i = current - 1; i >= 0; i--) if (seen[i]!.level < row.level) return i;
      return current;
    };
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(current + 1),
      ArrowUp: () => move(current - 1),
      PageDown: () => move(current + page),
      PageUp: () => move(current - page),
      Home: () => move(0),
      End: () => move(seen.length - 1),
      ArrowRight: () => (row.open === false ? props.onToggle(row.index) : row.open && move(current + 1)),
      ArrowLeft: () => (row.open ? props.onToggle(row.index) : move(parent())),
      Enter: () => row.open !== undefined && props.onToggle(row.index),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const shown = seen.slice(first, last);
  return (
    <div
      class="table-scroll mod-scroll"
      ref={scroller}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <table
        class="table mod-table"
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a tree of rows is a treegrid
        role="treegrid"
        aria-label="Modules"
        aria-rowcount={seen.length + 1}
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr aria-rowindex={1}>
            <Head
              column={{ field: "name", label: "Module", align: "left" }}
              sort={props.sort}
              onSort={props.onSort}
            />
            {columns.map((column) => (
              <Head
                key={column.field}
                column={{ ...column, sortable: column.field !== "share" }}
                sort={props.sort}
                onSort={props.onSort}
              />
            ))}
            <th scope="col" class="mod-jumps">
              <span class="sr-only">Go to</span>
            </th>
          </tr>
        </thead>
        {first > 0 && <Spacer height={first * ROW_PX} span={columns.length + 2} />}
        <tbody>
          {shown.map((one, offset) => (
            <Row
              key={one.index}
              {...props}
              one={one}
              place={first + offset}
              current={first + offset === current}
              onFocus={setAt}
            />
          ))}
        </tbody>
        {last < seen.length && <Spacer height={(seen.length - last) * ROW_PX} span={columns.length + 2} />}
      </table>
    </div>
  );
}

function Row(
  props: Props & { one: VisibleRow; place: number; current: boolean; onFocus: (place: number) => void },
) {
  const { one, columns, current, place } = props;
  const row = props.rows[one.index]!;
  const reach = current ? 0 : -1;
  return (
    <tr
      data-index={place}
      tabIndex={reach}
      aria-level={one.level}
      aria-expanded={one.open}
      aria-posinset={one.place}
      aria-setsize={one.siblings}
      aria-rowindex={place + 2}
      onFocus={(event) => event.target === event.currentTarget && props.onFocus(place)}
    >
      <td class="left" title={row.path}>
        <span class="mod-name" style={{ paddingLeft: `${(one.level - 1) * 18}px` }}>
          {one.open === undefined ? (
            <span class="mod-leaf" />
          ) : (
            <button
              type="button"
              class="disclose"
              tabIndex={-1}
              aria-label={`${one.open ? "Collapse" : "Expand"} ${row.name.slice(0, 100)}`}
              aria-expanded={one.open}
              onClick={() => props.onToggle(one.index)}
            >
              <Icon name="chevron" size={12} />
            </button>
          )}
          <bdi class={one.matched ? "mod-found" : undefined}>{row.name}</bdi>
          {row.class !== row.name && !row.name.startsWith(row.class) && <span class="quiet"> {row.class}</span>}
        </span>
      </td>
      {columns.map((column) => (
        <td key={column.field}>{column.cell(row)}</td>
      ))}
      <td class="mod-jumps">
        <span class="mod-go">
          <button
            type="button"
            class="jump"
            tabIndex={reach}
            title="Show in the flame graph"
            aria-label={`Show ${row.path.slice(0, 200)} in the flame graph`}
            onClick={() => props.onFlame(row)}
          >
            Flame
          </button>
          {props.onTimeline && (
            <button
              type="button"
              class="jump"
              tabIndex={reach}
              title="Find its calls on the timeline"
              aria-label={`Find ${row.name.slice(0, 200)} on the timeline`}
              onClick={() => props.onTimeline?.(row)}
            >
              <Icon name="jump" size={14} />
            </button>
          )}
        </span>
      </td>
    </tr>
  );
}

function Spacer({ height, span }: { height: number; span: number }) {
  return (
    <tbody class="spacer" aria-hidden="true">
      <tr>
        <td colSpan={span} style={{ height: `${height}px` }} />
      </tr>
    </tbody>
  );
}
