// Total, self and count of a node or a function, each with its definition.

import { count } from "../../parts/format.ts";
import { Defined } from "../../parts/metric.tsx";
import { DEFINED } from "./labels.ts";

export function Facts(props: {
  total: string;
  ofTotal: string;
  self: string;
  ofSelf?: string;
  /** Left out where there is none. */
  count: number;
}) {
  return (
    <dl class="flame-facts num">
      <dt>
        <Defined text={DEFINED.total}>Total</Defined>
      </dt>
      <dd>
        {props.total} <span class="quiet">{props.ofTotal}</span>
      </dd>
      <dt>
        <Defined text={DEFINED.self}>Self</Defined>
      </dt>
      <dd>
        {props.self} {props.ofSelf && <span class="quiet">{props.ofSelf}</span>}
      </dd>
      {props.count > 0 && (
        <>
          <dt>
            <Defined text={DEFINED.count}>Count</Defined>
          </dt>
          <dd>{count(props.count)}</dd>
        </>
      )}
    </dl>
  );
}
