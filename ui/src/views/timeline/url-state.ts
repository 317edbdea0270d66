// The state of the timeline as parameters of the URL, and back. Pure.

import { ranges } from "../../data/http.ts";
import type { Span } from "./visible-span.ts";

export interface AreaChoice extends Span {
  rows: number[];
}

export interface Marks {
  /** The span being measured. */
  current: Span | undefined;
  kept: readonly Span[];
}

export interface UrlState {
  window: Span | undefined;
  sel: number | undefined;
  area: AreaChoice | undefined;
  query: string;
  exact: boolean;
  pins: string[];
  folded: string[];
  marks: Marks;
  path: boolean;
  empty: boolean;
}

type Params = Readonly<Record<string, string | undefined>>;

/** A hostile URL must not make us list rows for ever. */
const MAX_ROWS = 1 << 20;
const MAX_MARKS = 100;

export function parseUrlState(params: Params): UrlState {
  const from = number(params.from);
  const to = number(params.to);
  return {
    window: from !== undefined && to !== undefined && to > from ? { from, to } : undefined,
    sel: number(params.sel),
    area: parseArea(params.area),
    query: params.name ?? params.q ?? "",
    exact: params.name !== undefined,
    pins: list(params.pins),
    folded: list(params.collapsed),
    marks: parseMarks(params.mark),
    path: params.path === "1",
    empty: params.empty === "1",
  };
}

export function formatUrlState(state: UrlState): Record<string, string | undefined> {
  const { window, area } = state;
  return {
    from: window && String(Math.round(window.from)),
    to: window && String(Math.round(window.to)),
    sel: state.sel?.toString(),
    area: area && `${Math.round(area.from)}-${Math.round(area.to)}-${ranges(area.rows)}`,
    q: state.exact ? undefined : state.query || undefined,
    name: state.exact ? state.query : undefined,
    pins: state.pins.map(encodeURIComponent).join(",") || undefined,
    collapsed: state.folded.map(encodeURIComponent).join(",") || undefined,
    mark: formatMarks(state.marks),
    path: state.path ? "1" : undefined,
    empty: state.empty ? "1" : undefined,
  };
}

function number(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

function list(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(Boolean).map(decode);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parseArea(text: string | undefined): AreaChoice | undefined {
  const match = /^(\d+)-(\d+)-([\d,-]*)$/.exec(text ?? "");
  if (!match) return undefined;
  const from = Number(match[1]);
  const to = Number(match[2]);
  return to > from ? { from, to, rows: parseRanges(match[3] ?? "") } : undefined;
}

/** `0-2,5` as `[0,1,2,5]`. */
export function parseRanges(text: string): number[] {
  const rows: number[] = [];
  for (const part of text.split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!match) continue;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    for (let row = first; row <= last && rows.length < MAX_ROWS; row++) rows.push(row);
  }
  return rows;
}

function parseMarks(text: string | undefined): Marks {
  let current: Span | undefined;
  const kept: Span[] = [];
  for (const part of (text ?? "").split(",").slice(0, MAX_MARKS)) {
    const match = /^(~?)(\d+)-(\d+)$/.exec(part);
    if (!match) continue;
    const span = { from: Number(match[2]), to: Number(match[3]) };
    if (match[1]) current = span;
    else kept.push(span);
  }
  return { current, kept };
}

function formatMarks({ current, kept }: Marks): string | undefined {
  const text = (span: Span) => `${Math.max(0, Math.round(span.from))}-${Math.round(span.to)}`;
  const parts = kept.map(text);
  if (current) parts.push(`~${text(current)}`);
  return parts.join(",") || undefined;
}
