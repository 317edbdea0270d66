// A button that opens a small panel: closes with Escape, a click elsewhere, or `close`.

import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { place } from "./place.ts";

export function Menu(props: {
  label: ComponentChildren;
  /** What the panel is, for those who cannot see it. */
  name: string;
  class?: string;
  title?: string | undefined;
  children: (close: () => void) => ComponentChildren;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const onToggle = (event: { newState: string }) => {
    const opens = event.newState === "open";
    setOpen(opens);
    if (opens) requestAnimationFrame(settle);
  };
  const settle = () => {
    const from = button.current?.getBoundingClientRect();
    const element = panel.current;
    if (!from || !element) return;
    const size = { width: element.offsetWidth, height: element.offsetHeight };
    const { left, top } = place(from, size, { width: innerWidth, height: innerHeight });
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
    element.querySelector<HTMLElement>("[data-first], input, button")?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={props.class}
        title={props.title}
        popovertarget={id}
        aria-expanded={open}
        aria-haspopup="dialog"
      >
        {props.label}
      </button>
      <div
        ref={panel}
        id={id}
        class="menu"
        popover="auto"
        role="dialog"
        aria-label={props.name}
        onToggle={onToggle}
      >
        {open && props.children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
