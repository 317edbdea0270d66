// An instruction in its program: what it takes on the left, who takes its result on the right. A click moves on.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { FusedRow, HloAround, NeighborRow, ProgramPlace } from "../../data/wire.ts";
import { count, many, percent, time } from "../../parts/format.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Await } from "../../parts/states.tsx";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { type Drawing, layout, NODE } from "./layout.ts";

/** The neighborhood of the instruction that was opened, or of the one that was clicked since. */
export function Neighborhood({ name, program }: { name: string; program: number | undefined }) {
  const focus = param("node") ?? name;
  const answer = useAsk<HloAround>("hlo", {
    around: focus,
    program,
    step: param("step"),
    device: param("device"),
  });
  return (
    <section class="hlo-around" aria-label={`Around ${focus}`}>
      <header>
        <h2>In its program</h2>
        {focus !== name && (
          <button type="button" class="quiet-button" onClick={() => setParams({ node: undefined })}>
            Back to {name}
          </button>
        )}
        <Await of={answer}>{(data) => <Within place={data.within} />}</Await>
      </header>
      <Await of={answer}>
        {(data) => (
          <>
            <Graph drawing={layout(data.nodes, data.edges)} />
            <Inside rows={data.inside} />
          </>
        )}
      </Await>
    </section>
  );
}

function Within({ place }: { place: ProgramPlace }) {
  const { caller } = place;
  return (
    <span class="quiet">
      {place.computation} of {place.program}
      {caller !== null && (
        <>
          , part of{" "}
          <button type="button" class="quiet-button" onClick={() => setParams({ node: caller })}>
            {caller}
          </button>
        </>
      )}
    </span>
  );
}

function Graph({ drawing }: { drawing: Drawing }) {
  const scroller = useRef<HTMLDivElement>(null);
  const middle = drawing.places.find((place) => place.node.hop === 0);
  // The instruction itself is in the middle of what can be seen.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !middle) return;
    element.scrollLeft = middle.x + NODE.width / 2 - element.clientWidth / 2;
    element.scrollTop = middle.y + NODE.height / 2 - element.clientHeight / 2;
  }, [middle?.node.node, middle?.x, middle?.y]);
  return (
    <div class="hlo-graph" ref={scroller}>
      <div class="hlo-canvas" style={{ width: `${drawing.width}px`, height: `${drawing.height}px` }}>
        <svg width={drawing.width} height={drawing.height} aria-hidden="true">
          <title>Who takes whose result</title>
          {drawing.arrows.map((arrow) => (
            <path key={arrow.key} d={arrow.path} class={arrow.near ? "near" : undefined} />
          ))}
        </svg>
        {drawing.places.map(({ node, x, y }) => (
          <Node key={node.node} node={node} style={{ left: `${x}px`, top: `${y}px` }} />
        ))}
      </div>
    </div>
  );
}

function Node({ node, style }: { node: NeighborRow; style: Record<string, string> }) {
  const hidden = [
    node.more_operands > 0 && `takes ${count(node.more_operands)} more`,
    node.more_users > 0 && `${count(node.more_users)} more ${node.more_users === 1 ? "takes" : "take"} it`,
  ].filter(Boolean);
  const title = [node.name, node.shape, node.op_path, node.fused && `fused: ${node.fused}`, ...hidden]
    .filter(Boolean)
    .join("\n");
  const content = (
    <>
      <b class="mono-name">
        <bdi>{node.name}</bdi>
      </b>
      <span class="hlo-shape">
        {node.opcode} <bdi>{node.shape}</bdi>
      </span>
      <span class="hlo-time">
        {node.self_ns === null ? (
          <span class="quiet">{hidden[0] ?? ""}</span>
        ) : (
          <>
            <b class="num">{time(node.self_ns)}</b>{" "}
            <span class="quiet">{node.share !== null && percent(node.share)}</span>
          </>
        )}
        {node.inside > 0 && <span class="hlo-chip">{count(node.inside)} fused</span>}
      </span>
    </>
  );
  if (node.hop === 0)
    return (
      <div class="hlo-node focus" style={style} title={title} aria-current="true">
        {content}
      </div>
    );
  const side = node.hop < 0 ? "taken by it" : "takes its result";
  const warm =
    node.share === null ? "" : `warm-${Math.max(1, Math.min(5, Math.ceil(Math.sqrt(node.share) * 5)))}`;
  return (
    <button
      type="button"
      class={`hlo-node ${warm}`}
      style={style}
      title={title}
      onClick={() => setParams({ node: node.name })}
    >
      {content}
      <span class="sr-only">{side}</span>
    </button>
  );
}

function Inside({ rows }: { rows: FusedRow[] }) {
  if (rows.length === 0) return null;
  return (
    <details class="hlo-inside">
      <summary>{many(rows.length, "instruction")} fused into it, run as one</summary>
      <PlainTable
        label="Fused instructions"
        rows={rows}
        columns={[
          { label: "Instruction", as: "text", cell: (row) => <bdi class="mono-name">{row.name}</bdi> },
          { label: "Op", as: "text", cell: (row) => row.opcode },
          { label: "Shape", as: "text", cell: (row) => <bdi class="mono-name">{row.shape}</bdi> },
          { label: "Takes", as: "text", cell: (row) => <bdi>{row.operands.join(", ")}</bdi> },
          {
            label: "Line",
            as: "text",
            cell: ({ file, line }) => file !== null && <SourceLink file={file} line={line} />,
          },
        ]}
      />
    </details>
  );
}
