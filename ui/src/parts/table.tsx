// A table over any number of rows: only what is in sight is in the page.

import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Rows } from "../data/rows.ts";
import { byField } from "./format.ts";
import { Icon } from "./icons.tsx";
import { HEAD, inSight, ROW, rowAt, rowTop } from "./rows.ts";
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

const KEYS = new Set(["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"]);

export function Table<R>(props: Props<R>) {
  const { columns, rows, open } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState({ width: 800, height: 600 });
  const [at, setAt] = useState(0);
  const toFocus = useRef<number>(undefined);
  const [detailHeight, setDetailHeight] = useState(0);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setRoom({ width: element.clientWidth, height: element.clientHeight });
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const hasDetail = props.detail !== undefined && open !== undefined && open < rows.total;
  const opened = hasDetail ? { index: open, height: detailHeight } : undefined;
  const { first, last } = inSight(top, room.height, rows.total, opened);
  useEffect(() => rows.want?.(first, last), [rows, first, last]);
  // A link to an opened row far down brings it into sight.
  const hadOpen = useRef(open);
  useEffect(() => {
    const element = scroller.current;
    if (hadOpen.current === undefined || !element || rows.total === 0) return;
    const y = rowTop(hadOpen.current, undefined);
    if (y > element.clientHeight - 2 * ROW) element.scrollTop = y - 2 * ROW;
    hadOpen.current = undefined;
  }, [rows.total]);

  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.total - 1, to));
    setAt(next);
    const element = scroller.current;
    if (!element) return;
    const y = rowTop(next, opened);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + 2 * ROW > element.scrollTop + element.clientHeight)
      element.scrollTop = y + 2 * ROW - element.clientHeight;
    // At once, not when the scroll is reported: then the row with the focus might leave the page before the next one
    // has it, and a key pressed meanwhile would be lost.
    setTop(element.scrollTop);
    toFocus.current = next;
  };
  // As soon as the row is in the page.
  useLayoutEffect(() => {
    if (toFocus.current === undefined) return;
    const row = scroller.current?.querySelector<HTMLElement>(`tr[data-index="${toFocus.current}"]`);
    if (!row) return;
    toFocus.current = undefined;
    row.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    // Keys in a cell's button or in the detail are theirs.
    if (!(event.target instanceof HTMLTableRowElement)) return;
    if (KEYS.has(event.key)) {
      const page = Math.max(1, Math.floor(room.height / ROW) - 2);
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
  const height = isWhole ? undefined : `${HEAD + rowTop(rows.total, opened)}px`;
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
