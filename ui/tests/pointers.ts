// An element and a pointer for tests without a page: what a drag needs of them.

export class StandIn extends EventTarget {
  readonly classList = { add() {}, remove() {}, toggle() {} };
  captured: number | undefined;

  getBoundingClientRect() {
    return { left: 0, top: 0 };
  }
  setPointerCapture(id: number): void {
    this.captured = id;
  }

  /** As the element that the page would have. */
  get element(): HTMLElement {
    return this as unknown as HTMLElement;
  }

  /** A pointer event at a place of the element. */
  point(type: string, x: number, y: number, more: Partial<PointerEvent> = {}): void {
    const about = { clientX: x, clientY: y, button: 0, pointerId: 1, pointerType: "mouse", shiftKey: false };
    this.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), about, more));
  }
}
