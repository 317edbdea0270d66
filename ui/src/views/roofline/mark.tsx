// The mark of an operator: its shape says what limits it, its color what it calculates in.

import type { RooflineRow } from "../../data/wire.ts";

/** The outline of a shape around 0,0 whose area is that of a circle with this radius. */
export function outline(bound: string | null, r: number): string {
  switch (bound) {
    case "memory": {
      const a = (r * Math.sqrt(Math.PI)) / 2;
      return `M${-a} ${-a}H${a}V${a}H${-a}Z`;
    }
    case "host_bus": {
      // An upright triangle with its center of gravity at 0,0.
      const side = r * Math.sqrt((4 * Math.PI) / Math.sqrt(3));
      const height = (side * Math.sqrt(3)) / 2;
      return `M0 ${(-height * 2) / 3}L${side / 2} ${height / 3}H${-side / 2}Z`;
    }
    case "compute":
      return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
    default: {
      const a = r * Math.sqrt(Math.PI / 2);
      return `M0 ${-a}L${a} 0L0 ${a}L${-a} 0Z`;
    }
  }
}

export function precisionClass(precision: string | null): string {
  return `mark-${precision ?? "none"}`;
}

/** The mark as drawn in a table or legend. */
export function Mark({ row }: { row: Pick<RooflineRow, "bound" | "precision"> }) {
  return (
    <svg class="roofline-mark" width={14} height={14} viewBox="-7 -7 14 14" aria-hidden="true">
      <path class={`point ${precisionClass(row.precision)}`} d={outline(row.bound, 5)} />
    </svg>
  );
}
