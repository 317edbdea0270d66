// The node selected with the keyboard or the pointer: its numbers, and where to go from it.

import { Fragment } from "preact";
import { amount, count, percent } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { placeOf, SourceLink } from "../../parts/source-link.tsx";
import { Facts } from "./facts.tsx";
import { shares } from "./match.ts";
import { nameOf, pathTo, type Tree } from "./tree.ts";

/** One sentence for those who hear the picture. */
export function spoken(tree: Tree, node: number): string {
  const { ofAll, ofParent } = shares(tree, node);
  const total = amount(tree.total[node] ?? 0, tree.unit);
  if (node === 0) return `all, ${total}`;
  const self = amount(tree.self[node] ?? 0, tree.unit);
  const name = nameOf(tree, node).slice(0, 200);
  return `${name}, total ${total}, ${percent(ofAll)} of total, ${percent(ofParent)} of its parent, self ${self}, level ${tree.depth[node]}`;
}

export function Selected(props: {
  tree: Tree;
  node: number;
  zoom: number;
  onZoom: (node: number) => void;
  onFunction: (node: number) => void;
  onTimeline: ((node: number) => void) | undefined;
}) {
  const { tree, node } = props;
  const { ofAll, ofParent } = shares(tree, node);
  const place = placeOf(nameOf(tree, node));
  return (
    <div class="flame-selected">
      <div class="flame-selected-name" title={nameOf(tree, node)}>
        {node > 0 && (
          <span
            class={`swatch cat-${tree.category[node]}`}
            role="img"
            aria-label={tree.kinds[tree.category[node]!] ?? "other"}
          />
        )}{" "}
        <bdi>{node === 0 ? "All" : nameOf(tree, node).slice(0, 1000)}</bdi>
      </div>
      <Facts
        total={amount(tree.total[node]!, tree.unit)}
        ofTotal={`${percent(ofAll)} of total${tree.parent[node]! > 0 ? `, ${percent(ofParent)} of parent` : ""}`}
        self={amount(tree.self[node]!, tree.unit)}
        count={tree.count[node]!}
      />
      <div class="flame-actions">
        <button type="button" disabled={node === props.zoom} onClick={() => props.onZoom(node)}>
          Zoom
        </button>
        <button type="button" disabled={node === 0} onClick={() => props.onFunction(node)}>
          Callers and callees
        </button>
        <button
          type="button"
          disabled={node === 0 || !props.onTimeline}
          onClick={() => props.onTimeline?.(node)}
        >
          <Icon name="jump" size={14} /> Find on the timeline
        </button>
        {place && <SourceLink {...place} />}
      </div>
    </div>
  );
}

/** The way from all to what fills the picture; a long one is cut in the middle. */
export function Crumbs(props: { tree: Tree; zoom: number; onZoom: (node: number) => void }) {
  const path = pathTo(props.tree, props.zoom);
  const cut = path.length > 7;
  const shown = cut ? [...path.slice(0, 2), ...path.slice(-4)] : path;
  return (
    <nav class="flame-crumbs" aria-label="Zoom">
      {shown.map((node, at) => (
        <Fragment key={node}>
          {at > 0 && <Icon name="chevron" size={10} />}
          {cut && at === 2 && (
            <>
              <span class="quiet">{count(path.length - 6)} more</span>
              <Icon name="chevron" size={10} />
            </>
          )}
          {at === shown.length - 1 ? (
            <span class="flame-here" aria-current="true" title={nameOf(props.tree, node)}>
              <bdi>{nameOf(props.tree, node).slice(0, 200)}</bdi>
            </span>
          ) : (
            <button type="button" title={nameOf(props.tree, node)} onClick={() => props.onZoom(node)}>
              <bdi>{nameOf(props.tree, node).slice(0, 200)}</bdi>
            </button>
          )}
        </Fragment>
      ))}
    </nav>
  );
}
