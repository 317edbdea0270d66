// A stretch of an axis in sight, and how gestures change it. Pure.

export interface Span {
  from: number;
  to: number;
}

/** The same length, but no less than `least` and no more than there is, moved to where there is something to see. */
export function clampSpan({ from, to }: Span, all: Span, least: number): Span {
  const most = all.to - all.from;
  const length = Math.min(most, Math.max(to - from, Math.min(least, most)));
  const start = Math.min(Math.max((from + to - length) / 2, all.from), all.to - length);
  return { from: start, to: start + length };
}

/** `factor` times as much in sight; what is at `share` of the length stays there. */
export function zoomSpan(span: Span, factor: number, share: number, all: Span, least: number): Span {
  const most = all.to - all.from;
  const old = span.to - span.from;
  const length = Math.min(most, Math.max(old * factor, Math.min(least, most)));
  const anchor = span.from + share * old;
  return clampSpan({ from: anchor - share * length, to: anchor + (1 - share) * length }, all, least);
}
