// The one tooltip of the page. It floats above everything, so no card, table or dialog cuts it off.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Box, place, placeBeside } from "./place.ts";

interface Shown {
  anchor: Element | Box;
  content: ComponentChildren;
  /** Beside the anchor and blind to the pointer: for marks in a chart. */
  beside: boolean;
}

const shown = signal<Shown | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

const SHOW_MS = 120;
/** Long enough to move the pointer onto the tip and read on. */
const HIDE_MS = 140;

/** Shows `content` beside an element or a place of the window, at once. */
export function showTip(anchor: Element | Box, content: ComponentChildren, beside = false): void {
  clearTimeout(timer);
  shown.value = { anchor, content, beside };
}

export function hideTip(): void {
  clearTimeout(timer);
  shown.value = undefined;
}

function later(run: () => void, ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(run, ms);
}

/** What an element needs so that `content` shows while it is hovered or focused. */
export function tipOn(content: ComponentChildren) {
  return {
    onPointerEnter(event: PointerEvent) {
      const anchor = event.currentTarget as Element;
      if (event.pointerType !== "touch") later(() => showTip(anchor, content), shown.value ? 0 : SHOW_MS);
    },
    onPointerLeave: () => later(hideTip, HIDE_MS),
    onFocus(event: FocusEvent) {
      const anchor = event.currentTarget as Element;
      if (anchor.matches(":focus-visible")) showTip(anchor, content);
    },
    onBlur: hideTip,
  };
}

/** Is once in the page. */
export function TipLayer() {
  const box = useRef<HTMLDivElement>(null);
  const now = shown.value;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (!now || (now.anchor instanceof Element && !now.anchor.isConnected)) {
      element.hidePopover();
      return;
    }
    // Shown anew each time: it must lie above a dialog that was opened since.
    element.hidePopover();
    element.showPopover();
    const anchor = now.anchor instanceof Element ? now.anchor.getBoundingClientRect() : now.anchor;
    const size = { width: element.offsetWidth, height: element.offsetHeight };
    const view = { width: innerWidth, height: innerHeight };
    const { left, top } = now.beside ? placeBeside(anchor, size, view) : place(anchor, size, view);
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
  }, [now]);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") hideTip();
    };
    addEventListener("keydown", onKey, true);
    addEventListener("scroll", hideTip, true);
    addEventListener("pointerdown", hideTip, true);
    addEventListener("hashchange", hideTip);
    return () => {
      removeEventListener("keydown", onKey, true);
      removeEventListener("scroll", hideTip, true);
      removeEventListener("pointerdown", hideTip, true);
      removeEventListener("hashchange", hideTip);
    };
  }, []);
  return (
    <div
      ref={box}
      class={now?.beside ? "tip blind" : "tip"}
      role="tooltip"
      popover="manual"
      onPointerEnter={() => clearTimeout(timer)}
      onPointerLeave={() => later(hideTip, HIDE_MS)}
    >
      {now?.content}
    </div>
  );
}
