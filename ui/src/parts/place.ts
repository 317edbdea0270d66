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

const GAP_PX = 6;
const EDGE_PX = 8;

/** Below the anchor if there is room, else above it, else where most of it shows. */
export function place(anchor: Box, box: Size, view: Size): { left: number; top: number } {
  const below = anchor.bottom + GAP_PX;
  const above = anchor.top - GAP_PX - box.height;
  const fitsBelow = below + box.height + EDGE_PX <= view.height;
  const wanted = fitsBelow || above < EDGE_PX ? below : above;
  return {
    left: within(anchor.left, box.width, view.width),
    top: within(wanted, box.height, view.height),
  };
}

function within(start: number, length: number, room: number): number {
  return Math.max(EDGE_PX, Math.min(start, room - length - EDGE_PX));
}

/** Beside the anchor, so that it stays visible: to the right if there is room, else to the left. */
export function placeBeside(anchor: Box, box: Size, view: Size): { left: number; top: number } {
  const right = anchor.right + GAP_PX;
  const fitsRight = right + box.width + EDGE_PX <= view.width;
  const wanted = fitsRight ? right : anchor.left - GAP_PX - box.width;
  return {
    left: within(wanted, box.width, view.width),
    top: within(anchor.top, box.height, view.height),
  };
}
