// The row of a scrolling table that the keyboard is at: moved into sight, and focused once it is in the page.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ROW_PX } from "./rows.ts";

/** `topOf` says how far down a row begins. */
export function useFocusedRow(total: number, topOf: (index: number) => number) {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [at, setAt] = useState(0);
  const toFocus = useRef<number>(undefined);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(total - 1, to));
    setAt(next);
    const element = scroller.current;
    if (!element) return;
    const y = topOf(next);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + 2 * ROW_PX > element.scrollTop + element.clientHeight)
      element.scrollTop = y + 2 * ROW_PX - element.clientHeight;
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
  return { scroller, top, setTop, at, setAt, move };
}
