// Follows a pointer from the press to the release. The release is a place, too: on a busy machine it may lie far from
// the last move that was reported, and a press and a release may come without any move between them.

export interface DragHandlers {
  /** Each place the pointer comes to, the one where it is released included. */
  move(event: PointerEvent): void;
  /** It was released; `move` has been called with the place. */
  end?(event: PointerEvent): void;
  /** It was taken away: a gesture of the system, another window. */
  cancel?(): void;
}

/** Starts in a `pointerdown` handler. The element gets the pointer's events wherever it goes. */
export function startDrag(element: HTMLElement, down: PointerEvent, handlers: DragHandlers): void {
  const control = new AbortController();
  const listen = (name: string, react: (event: PointerEvent) => void) => {
    const own = (event: Event) => {
      if ((event as PointerEvent).pointerId === down.pointerId) react(event as PointerEvent);
    };
    element.addEventListener(name, own, { signal: control.signal });
  };
  const cancel = () => {
    control.abort();
    handlers.cancel?.();
  };
  element.setPointerCapture(down.pointerId);
  listen("pointermove", (event) => handlers.move(event));
  listen("pointerup", (event) => {
    control.abort();
    handlers.move(event);
    handlers.end?.(event);
  });
  listen("pointercancel", cancel);
  listen("lostpointercapture", cancel);
}
