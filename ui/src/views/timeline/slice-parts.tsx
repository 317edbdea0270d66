// What surrounds a slice: links, parents, children, stack, arguments.

import type { Details, Ref, Relation } from "../../data/types.ts";
import { count, percent, time } from "../../parts/format.ts";
import type { Controller } from "./controller.ts";

const RELATIONS: Record<Relation, string> = {
  "launched by": "Launched by",
  launches: "Launches",
  operator: "Operator",
  "device work": "Device work",
  forward: "Forward",
  backward: "Backward",
};

export function Links({ details, controller }: { details: Details; controller: Controller }) {
  if (details.links.length === 0) return null;
  return (
    <section>
      <h3>Linked slices</h3>
      <ul class="tl-refs">
        {details.links.map(({ relation, to }) => (
          <li key={`${relation}-${to.id}`}>
            <span class="tl-relation quiet">{RELATIONS[relation] ?? relation}</span>
            <RefButton to={to} controller={controller} />
          </li>
        ))}
        {details.links_more > 0 && <li class="quiet">{`and ${count(details.links_more)} more`}</li>}
      </ul>
    </section>
  );
}

function RefButton({ to, controller }: { to: Ref; controller: Controller }) {
  return (
    <button
      type="button"
      class="tl-ref"
      title={to.name.slice(0, 1000)}
      onClick={() => void controller.actions.jump(to.id, to)}
    >
      <span class={`swatch cat-${to.category}`} />
      <bdi>{to.name}</bdi>
      <span class="quiet num">{to.dur_ns > 0 ? time(to.dur_ns) : ""}</span>
    </button>
  );
}

export function Parents({ details, controller }: { details: Details; controller: Controller }) {
  if (details.parents.length === 0) return null;
  return (
    <section>
      <h3>Parents</h3>
      <ul class="tl-refs">
        {details.parents.map((parent) => (
          <li key={parent.id}>
            <RefButton to={parent} controller={controller} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Children({ details }: { details: Details }) {
  if (details.children.length === 0) return null;
  return (
    <section>
      <h3>Children</h3>
      <table class="tl-table">
        <tbody>
          {details.children.map((child) => (
            <tr key={child.name}>
              <td title={child.name.slice(0, 1000)}>
                <bdi>{child.name}</bdi>
              </td>
              <td class="num">{`${count(child.count)} ×`}</td>
              <td class="num">{time(child.total_ns)}</td>
              <td class="num quiet">{details.dur_ns > 0 ? percent(child.total_ns / details.dur_ns) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function PythonStack({ frames }: { frames: string[] }) {
  if (frames.length === 0) return null;
  return (
    <section>
      <h3>Python stack</h3>
      <ol class="tl-stack mono">
        {frames.map((frame, i) => (
          <li key={i} title={frame.slice(0, 1000)}>
            <bdi>{frame}</bdi>
          </li>
        ))}
      </ol>
    </section>
  );
}

const LONGEST_ARGUMENT = 2000;

export function Arguments({ args }: { args: [string, string][] }) {
  if (args.length === 0) return null;
  return (
    <section>
      <h3>Arguments</h3>
      <table class="tl-table tl-args">
        <tbody>
          {args.map(([key, value]) => (
            <tr key={key}>
              <th scope="row">
                <bdi>{key}</bdi>
              </th>
              <td class="mono tl-wrap">
                <bdi>{value.length > LONGEST_ARGUMENT ? `${value.slice(0, LONGEST_ARGUMENT)}…` : value}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
