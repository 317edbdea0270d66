// Ways out of this view: to the moment on the timeline, to the operator.

import type { ComponentChildren } from "preact";
import { href } from "../session/route.ts";
import { exactly } from "./filter.tsx";
import { shortName } from "./format.ts";
import { windowAround } from "./jump.tsx";
import type { Column } from "./table.tsx";

/** Opens the timeline on a span of time, with something around it. */
export function OnTimeline(props: {
  start: number;
  length: number;
  label: string;
  children?: ComponentChildren;
}) {
  return (
    <a
      class="timeline-link"
      href={href("timeline", windowAround(props.start, props.length))}
      aria-label={props.label}
      title={props.label}
    >
      {props.children ?? "Show"}
    </a>
  );
}

/** The column that leads from each row to its moment on the timeline. */
export function timelineColumn<R>(of: (row: R) => { start: number; length: number; label: string }): Column<R> {
  return {
    field: "timeline",
    label: "Timeline",
    width: "80px",
    cell: (row) => <OnTimeline {...of(row)} />,
  };
}

/** A Python stack, innermost first. */
export function Stack({ frames }: { frames: string[] }) {
  if (frames.length === 0)
    return <p class="quiet">No Python stack. PyTorch's profiler records them with with_stack=True.</p>;
  return (
    <ol class="python-stack mono">
      {frames.map((frame, at) => (
        <li key={at}>
          <bdi>{frame}</bdi>
        </li>
      ))}
    </ol>
  );
}

/** A name as a link to its row among the operators or kernels. */
export function RowLink({ view, name }: { view: "operators" | "kernels"; name: string }) {
  return (
    <a href={href(view, { filter: exactly(name), open: 0 })} title={name}>
      <bdi>{shortName(name)}</bdi>
    </a>
  );
}

/** A name that may be long, from right to left or worse: it stays in its cell, the whole is in the title. */
export function Name({ name, short }: { name: string; short?: string }) {
  return <bdi title={name}>{short ?? name}</bdi>;
}
