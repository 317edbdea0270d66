// Where a floating box goes: near what it speaks of, always whole inside the window.

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Size {
  width: number;
  height: number;
}

const GAP = 6;
const EDGE = 8;

/** Below the anchor if there is room, else above it, else where most of it shows. */
export function place(anchor: Box, box: Size, view: Size): { left: number; top: number } {
  const below = anchor.bottom + GAP;
  const above = anchor.top - GAP - box.height;
  const fitsBelow = below + box.height + EDGE <= view.height;
  const wanted = fitsBelow || above < EDGE ? below : above;
  return {
    left: within(anchor.left, box.width, view.width),
    top: within(wanted, box.height, view.height),
  };
}

function within(start: number, length: number, room: number): number {
  return Math.max(EDGE, Math.min(start, room - length - EDGE));
}

/** Beside the anchor, so that it stays visible: to the right if there is room, else to the left. */
export function placeBeside(anchor: Box, box: Size, view: Size): { left: number; top: number } {
  const right = anchor.right + GAP;
  const fitsRight = right + box.width + EDGE <= view.width;
  const wanted = fitsRight ? right : anchor.left - GAP - box.width;
  return {
    left: within(wanted, box.width, view.width),
    top: within(anchor.top, box.height, view.height),
  };
}
