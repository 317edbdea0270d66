// The scale of the step chart: a roof where a few steps tower over all others, and which bars are numbered.

/** Steps this many times above the rest are cut off, so that the rest can be read. */
const MIN_CUT_RATIO = 3;
const HEADROOM_RATIO = 1.3;

/** The height at which bars are cut off; none if no step is much longer. */
export function roof(heights: readonly number[]): number | undefined {
  if (heights.length < 4) return undefined;
  const sorted = [...heights].sort((a, b) => a - b);
  const usual = sorted[Math.floor(0.9 * (sorted.length - 1))] ?? 0;
  const highest = sorted[sorted.length - 1] ?? 0;
  const cap = usual * HEADROOM_RATIO;
  return cap > 0 && highest > MIN_CUT_RATIO * cap ? cap : undefined;
}

/** Every how many bars one is numbered, so that they do not touch. */
export function labelEvery(bars: number, width: number, room = 44): number {
  const most = Math.max(1, Math.floor(width / room));
  const rough = Math.ceil(bars / most);
  for (const m of [1, 2, 5, 10, 20, 25, 50, 100, 200]) if (m >= rough) return m;
  return rough;
}

/** The number below a bar, if it gets one: round numbers where each bar is one step. */
export function labelOf(
  bar: { first: number; steps: number },
  index: number,
  every: number,
): string | undefined {
  if (bar.first < 0) return "whole trace";
  const at = bar.steps === 1 ? bar.first : index;
  return at % every === 0 ? String(bar.first) : undefined;
}
