// A tree on a canvas: drawn, hovered over, walked through by keys.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { hideTip, showTip } from "../../parts/tip.tsx";
import { busy } from "../../session/busy.ts";
import { theme } from "../../session/theme.ts";
import { readPalette } from "./color.ts";
import { type Box, boxAt, type Direction, layout, type Span, step } from "./layout.ts";
import type { Match } from "./match.ts";
import { paint, ROW_PX, rowTop } from "./paint.ts";
import { Tip } from "./tip.tsx";
import type { Placed, Tree } from "./tree.ts";

interface Props {
  label: string;
  tree: Tree;
  placed: Placed;
  /** Root at the bottom. */
  upwards: boolean;
  /** The node that fills the width. */
  zoom: number;
  focus: number | undefined;
  found: Match | undefined;
  onFocus: (node: number) => void;
  /** A click or Enter on a node. */
  onOpen: (node: number) => void;
  class?: string;
  /** By node: how much it changed, from -1 to 1; colors show that instead of categories. */
  changes?: Float32Array;
  /** What is shown beside the pointer, if not the node's own numbers. */
  tip?: (box: Box) => ComponentChildren;
  /** Where else the numbers are, for those who cannot see the picture. */
  also?: string;
}

const MOTION_MS = 180;

export function Graph(props: Props) {
  const { tree, placed, upwards, zoom, focus, found } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [room, setRoom] = useState({ width: 0, height: 0 });
  const [hover, setHover] = useState<Box>();
  const target = useMemo(() => spanOf(tree, placed, zoom), [tree, placed, zoom]);
  const span = useMotion(target, placed);
  const rows = useMemo(
    () => layout(tree, placed, span, room.width, found?.nodes, found?.inside),
    [tree, placed, span, room.width, found],
  );
  const shown = theme.value;
  const palette = useMemo(() => readPalette(document.documentElement), [shown]);
  const deepest = Math.max(rows.length, 1);
  const full = deepest * ROW_PX;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setRoom({ width: element.clientWidth, height: element.clientHeight });
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    measure();
    return () => watch.disconnect();
  }, []);

  useEffect(() => hideTip, []);

  const redraw = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || room.width === 0) return;
    const dots = devicePixelRatio || 1;
    const height = Math.min(full, Math.max(room.height, ROW_PX));
    const [wide, high] = [Math.round(room.width * dots), Math.round(height * dots)];
    if (element.width !== wide || element.height !== high) {
      element.width = wide;
      element.height = high;
    }
    context.setTransform(dots, 0, 0, dots, 0, 0);
    const scroll = scroller.current?.scrollTop ?? 0;
    paint(
      context,
      {
        tree,
        rows,
        upwards,
        width: room.width,
        height,
        full,
        scroll,
        searching: found !== undefined,
        focus,
        hover,
        changes: props.changes,
      },
      palette,
    );
  };
  useLayoutEffect(redraw);

  // What fills the width is in sight with one row around it; then whatever is walked to.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const y = rowTop(tree.depth[zoom] ?? 0, full, upwards);
    element.scrollTop = upwards ? y + 2 * ROW_PX - element.clientHeight : y - ROW_PX;
  }, [tree, upwards, zoom, room.height > 0]);
  useEffect(() => {
    const element = scroller.current;
    if (!element || focus === undefined) return;
    const y = rowTop(tree.depth[focus] ?? 0, full, upwards);
    if (y < element.scrollTop) element.scrollTop = y - ROW_PX;
    else if (y + ROW_PX > element.scrollTop + element.clientHeight)
      element.scrollTop = y + 2 * ROW_PX - element.clientHeight;
  }, [focus, full, upwards, tree]);

  const boxUnder = (event: MouseEvent): Box | undefined => {
    const element = canvas.current;
    if (!element) return undefined;
    const frame = element.getBoundingClientRect();
    const y = event.clientY - frame.top + (scroller.current?.scrollTop ?? 0);
    const depth = upwards ? Math.floor((full - y) / ROW_PX) : Math.floor(y / ROW_PX);
    return boxAt(rows[depth], event.clientX - frame.left);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = focus ?? zoom;
    const ways: Record<string, Direction> = {
      ArrowUp: upwards ? "child" : "parent",
      ArrowDown: upwards ? "parent" : "child",
      ArrowLeft: "before",
      ArrowRight: "after",
    };
    const way = ways[event.key];
    if (way) props.onFocus(focus === undefined ? zoom : step(tree, placed, at, way));
    else if (event.key === "Home") props.onFocus(0);
    else if (event.key === "Enter") props.onOpen(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class={`flame-graph ${props.class ?? ""}`}
      ref={scroller}
      role="application"
      aria-label={props.label}
      aria-description={`Arrow keys move to callers, callees and neighbors; Enter opens, Escape goes back. ${props.also ?? "The table has the same numbers."}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys walk through the picture
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={redraw}
    >
      <div class="flame-sheet" style={{ height: `${full}px` }}>
        <canvas
          ref={canvas}
          class={hover ? "over" : undefined}
          style={{ width: `${room.width}px`, height: `${Math.min(full, Math.max(room.height, ROW_PX))}px` }}
          onMouseMove={(event) => {
            const box = boxUnder(event);
            const [x, y] = [event.clientX, event.clientY];
            setHover(box);
            if (box)
              showTip(
                { left: x, right: x, top: y, bottom: y },
                props.tip?.(box) ?? <Tip tree={tree} box={box} />,
                true,
              );
            else hideTip();
          }}
          onMouseLeave={() => {
            setHover(undefined);
            hideTip();
          }}
          onClick={(event) => {
            const box = boxUnder(event);
            if (!box) return;
            const parent = tree.parent[box.node] ?? -1;
            // A band opens what it is part of; where that is open already, its largest.
            props.onOpen(box.merged > 0 && parent >= 0 && parent !== zoom ? parent : box.node);
          }}
        />
      </div>
    </div>
  );
}

function spanOf(tree: Tree, placed: Placed, node: number): Span {
  const from = placed.start[node] ?? 0;
  return { from, to: from + (tree.total[node] ?? 0) };
}

/** The span on its way to `target`; at once in another picture, or where motion is not wanted. */
function useMotion(target: Span, picture: Placed): Span {
  const [shown, show] = useState(target);
  const last = useRef({ span: target, picture });
  useLayoutEffect(() => {
    const from = last.current.span;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still || last.current.picture !== picture || (from.from === target.from && from.to === target.to)) {
      last.current = { span: target, picture };
      show(target);
      return;
    }
    const begun = performance.now();
    let frame = 0;
    busy(1);
    const tick = (now: number) => {
      const share = Math.min(1, Math.max(0, now - begun) / MOTION_MS);
      const eased = 1 - (1 - share) ** 3;
      const between = (a: number, b: number) => a + (b - a) * eased;
      const span =
        share === 1 ? target : { from: between(from.from, target.from), to: between(from.to, target.to) };
      last.current = { span, picture };
      show(span);
      frame = share < 1 ? requestAnimationFrame(tick) : 0;
      if (share === 1) busy(-1);
    };
    frame = requestAnimationFrame(tick);
    return () => {
      if (frame === 0) return;
      cancelAnimationFrame(frame);
      busy(-1);
    };
  }, [target, picture]);
  return last.current.picture === picture ? shown : target;
}
