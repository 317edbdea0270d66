// One bar of the step chart: stacked parts, hatched if partial, cut off if it towers over the rest.

import { hideTip, showTip } from "../../../parts/tip.tsx";
import type { PARTS } from "../types.ts";
import { BarTip, barLabel } from "./bar-tip.tsx";
import type { StepBar } from "./bins.ts";

interface BarProps {
  bar: StepBar;
  index: number;
  x: number;
  slot: number;
  thick: number;
  parts: readonly (typeof PARTS)[number][];
  y: (ns: number) => number;
  /** Where the drawing begins and where the bars begin. */
  top: number;
  floor: number;
  cut: boolean;
  /** The longest step of several. */
  peak: number | undefined;
  hatch: string;
  faint: boolean;
  pressed: boolean;
  focusable: boolean;
  label: string | undefined;
  onFocus: () => void;
  onChoose: ((bar: StepBar) => void) | undefined;
}

export function Bar(props: BarProps) {
  const { bar, x, slot, thick, y, floor } = props;
  const left = x + (slot - thick) / 2;
  let below = 0;
  const tip = (event: Event) => {
    const mark = (event.currentTarget as Element).querySelector(".hit");
    if (mark) showTip(mark, <BarTip bar={bar} canChoose={props.onChoose !== undefined} />, true);
  };
  const crown = y(props.parts.reduce((total, p) => total + bar.parts[p.field], 0));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing has no button
    <g
      role="button"
      // Names of attributes keep their case in a drawing: `tabIndex` would not be one.
      tabindex={props.focusable ? 0 : -1}
      data-bar={props.index}
      class={`step-bar ${props.faint ? "faint" : ""} ${props.onChoose ? "can-choose" : ""}`}
      aria-pressed={props.pressed}
      aria-label={barLabel(bar)}
      onPointerEnter={tip}
      onPointerLeave={hideTip}
      onBlur={hideTip}
      onFocus={(event) => {
        props.onFocus();
        if ((event.currentTarget as Element).matches(":focus-visible")) tip(event);
      }}
      onClick={() => props.onChoose?.(bar)}
    >
      <rect class="hit" x={x} y={props.top} width={slot} height={floor - props.top} />
      {props.parts.map(({ field, category }) => {
        const from = y(below);
        below += bar.parts[field];
        const to = y(below);
        if (from - to < 0.05) return null;
        return <rect key={field} class={`fill-${category}`} x={left} y={to} width={thick} height={from - to} />;
      })}
      {bar.partial.length > 0 && (
        <rect x={left} y={crown} width={thick} height={floor - crown} fill={`url(#${props.hatch})`} />
      )}
      {props.pressed && <rect class="chosen" x={left} y={crown} width={thick} height={floor - crown} />}
      {props.peak !== undefined && (
        <line class="peak" x1={left} x2={left + thick} y1={y(props.peak)} y2={y(props.peak)} />
      )}
      {props.cut && <path class="cut" d={`M${left - 2} ${props.top + 9}l${thick + 4} -5v4l-${thick + 4} 5z`} />}
      {props.label && (
        <text class="tick" x={x + slot / 2} y={floor + 18} text-anchor="middle">
          {props.label}
        </text>
      )}
    </g>
  );
}
