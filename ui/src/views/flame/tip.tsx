// What is shown beside the pointer.

import { amount, count, many, percent } from "../../parts/format.ts";
import type { Box } from "./layout.ts";
import { shares } from "./match.ts";
import { nameOf, type Tree } from "./tree.ts";

const MAX_NAME_CHARS = 600;

export function Tip({ tree, box }: { tree: Tree; box: Box }) {
  const { node } = box;
  const parts = shares(tree, node);
  const name = nameOf(tree, node);
  return (
    <div class="flame-tip">
      {box.merged > 0 ? (
        <>
          <div class="flame-tip-name">{many(box.merged, "call")} too short to draw</div>
          <dl>
            <dt>Combined</dt>
            <dd>{amount(box.total, tree.unit)}</dd>
            <dt>Of total</dt>
            <dd>{percent(tree.total[0]! > 0 ? box.total / tree.total[0]! : 0)}</dd>
          </dl>
          <div class="quiet">Click to zoom in.</div>
        </>
      ) : (
        <>
          <div class="flame-tip-name">
            <bdi>{name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name}</bdi>
          </div>
          <dl>
            <dt>Total</dt>
            <dd>
              {amount(tree.total[node]!, tree.unit)} <span class="quiet">{percent(parts.ofAll)} of total</span>
            </dd>
            {tree.parent[node]! > 0 && (
              <>
                <dt>Of parent</dt>
                <dd>{percent(parts.ofParent)}</dd>
              </>
            )}
            <dt>Self</dt>
            <dd>
              {amount(tree.self[node]!, tree.unit)}{" "}
              <span class="quiet">
                {percent(tree.total[0]! > 0 ? tree.self[node]! / tree.total[0]! : 0)} of total
              </span>
            </dd>
            {tree.count[node]! > 0 && (
              <>
                <dt>Count</dt>
                <dd>{count(tree.count[node]!)}</dd>
              </>
            )}
          </dl>
          {node > 0 && (
            <div class="flame-tip-kind">
              <span class={`swatch cat-${tree.category[node]}`} /> {tree.kinds[tree.category[node]!]}
            </div>
          )}
        </>
      )}
    </div>
  );
}
