// A table over any number of rows: only what is in sight is in the page.

import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Rows } from "../data/rows.ts";
import { useFocusedRow } from "./focused-row.ts";
import { byField } from "./format.ts";
import { Icon } from "./icons.tsx";
import { type Definitions, definition, labelOf } from "./metric.tsx";
import { HEAD_PX, inSight, ROW_PX, rowAt, rowTop } from "./rows.ts";
import { Head, type HeadColumn } from "./table-head.tsx";

export interface Column<R> extends HeadColumn {
  /** How a cell looks; by the field's ending if left out. */
  cell?: (row: R, index: number) => ComponentChildren;
}

interface Props<R> {
  label: string;
  columns: Column<R>[];
  rows: Rows<R>;
  sort?: string | undefined;
  onSort?: (field: string) => void;
  /** Enter or a click on a row. */
  onOpen?: (row: R, index: number) => void;
  /** What is shown below an opened row. */
  detail?: (row: R) => ComponentChildren;
  /** The opened row. */
  open?: number | undefined;
  /** At most this high; the table scrolls within. */
  height?: number;
  /** Takes the height its parent (a flex column) has left instead. */
  fill?: boolean;
  empty?: ComponentChildren;
}

/** A column under the name and the definition that the answer gives its field. */
export function defined<R>(
  definitions: Definitions,
  field: keyof R & string,
  rest: Partial<Column<R>> = {},
): Column<R> {
  return { field, label: labelOf(definitions, field), text: definition(definitions, field), ...rest };
}

const KEYS = new Set(["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"]);

export function Table<R>(props: Props<R>) {
  const { columns, rows, open } = props;
  const [room, setRoom] = useState({ width: 800, height: 600 });
  const [detailHeight, setDetailHeight] = useState(0);
  const hasDetail = props.detail !== undefined && open !== undefined && open < rows.total;
  const opened = hasDetail ? { index: open, height: detailHeight } : undefined;
  const { scroller, top, setTop, at, setAt, move } = useFocusedRow(rows.total, (row) => rowTop(row, opened));

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setRoom({ width: element.clientWidth, height: element.clientHeight });
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const { first, last } = inSight(top, room.height, rows.total, opened);
  useEffect(() => rows.want?.(first, last), [rows, first, last]);
  // A link to an opened row far down brings it into sight.
  const hadOpen = useRef(open);
  useEffect(() => {
    const element = scroller.current;
    if (hadOpen.current === undefined || !element || rows.total === 0) return;
    const y = rowTop(hadOpen.current, undefined);
    if (y > element.clientHeight - 2 * ROW_PX) element.scrollTop = y - 2 * ROW_PX;
    hadOpen.current = undefined;
  }, [rows.total]);

  const onKeyDown = (event: KeyboardEvent) => {
    // Keys in a cell's button or in the detail are theirs.
    if (!(event.target instanceof HTMLTableRowElement)) return;
    if (KEYS.has(event.key)) {
      const page = Math.max(1, Math.floor(room.height / ROW_PX) - 2);
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "ArrowDown") move(at + 1);
      else if (event.key === "ArrowUp") move(at - 1);
      else if (event.key === "PageDown") move(at + page);
      else if (event.key === "PageUp") move(at - page);
      else move(event.key === "Home" ? 0 : rows.total - 1);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const row = rows.at(at);
      if (row !== undefined) props.onOpen?.(row, at);
    }
  };

  if (rows.total === 0 && props.empty) return <>{props.empty}</>;
  const visible: number[] = [];
  for (let index = first; index < last; index++) visible.push(index);
  // The row that Tab reaches must be in sight; the one focused last if it is in the page.
  const focusable = at >= first && at < last ? at : Math.min(last - 1, rowAt(top, opened) + 1);
  // The height is said, not left to rows: it must hold at every moment while rows are exchanged, or the browser
  // would cut the scroll position down.
  const isWhole = first === 0 && last === rows.total;
  const height = isWhole ? undefined : `${HEAD_PX + rowTop(rows.total, opened)}px`;
  const style = { "--room": `${room.width}px`, maxHeight: props.fill ? undefined : `${props.height ?? 640}px` };
  return (
    <div
      class={props.fill ? "table-scroll fill" : "table-scroll"}
      ref={scroller}
      style={style}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}
    >
      <div class="table-room" style={{ height }}>
        <table
          class="table"
          style={{ top: `${rowTop(first, opened)}px` }}
          aria-label={props.label}
          aria-rowcount={rows.total + 1}
          onKeyDown={onKeyDown}
        >
          <thead>
            <tr>
              {columns.map((column) => (
                <Head key={column.field} column={column} sort={props.sort} onSort={props.onSort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {visible.map((index) => {
              const row = rows.at(index);
              const isOpen = open === index;
              return (
                <Fragment key={index}>
                  <tr
                    data-index={index}
                    class={`${props.onOpen ? "can-open" : ""} ${isOpen ? "is-open" : ""}`}
                    tabIndex={index === focusable ? 0 : -1}
                    aria-rowindex={index + 2}
                    onFocus={(event) => event.target === event.currentTarget && setAt(index)}
                    onClick={(event) => {
                      if (row !== undefined && !isOwn(event)) props.onOpen?.(row, index);
                    }}
                  >
                    {columns.map((column, place) => (
                      <td key={column.field} class={column.align === "left" ? "left" : undefined}>
                        {place === 0 && props.detail && (
                          <Disclose
                            open={isOpen}
                            onClick={() => row !== undefined && props.onOpen?.(row, index)}
                          />
                        )}
                        {row === undefined
                          ? "…"
                          : column.cell
                            ? column.cell(row, index)
                            : byField(column.field, field(row, column.field))}
                      </td>
                    ))}
                  </tr>
                  {isOpen && row !== undefined && props.detail && (
                    <tr class="detail">
                      <td colSpan={columns.length}>
                        <Detail onHeight={setDetailHeight}>{props.detail(row)}</Detail>
                      </td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Says that a row can be opened, and whether it is; by keyboard, Enter on the row does the same. */
function Disclose({ open, onClick }: { open: boolean; onClick: () => void }) {
  return (
    <button
      type="button"
      class="disclose"
      tabIndex={-1}
      aria-expanded={open}
      aria-label="Details"
      onClick={onClick}
    >
      <Icon name="chevron" size={12} />
    </button>
  );
}

/** Whether a click was meant for something in the row, or marked text in it. */
function isOwn(event: MouseEvent): boolean {
  const inner = event.target instanceof Element && event.target.closest("a, button, input, label");
  return Boolean(inner) || (getSelection()?.toString() ?? "") !== "";
}

function field(row: unknown, name: string): unknown {
  return (row as Record<string, unknown>)[name];
}

function Detail(props: { onHeight: (height: number) => void; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const { onHeight } = props;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => onHeight(element.offsetHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, [onHeight]);
  return (
    <div class="detail-body" ref={box}>
      {props.children}
    </div>
  );
}
