// The state of the page is its URL: `#/timeline?run=1&from=0&to=2000`. Every view can be linked to and restored.

import { signal } from "@preact/signals";
import { isComparison } from "../data/pack.ts";

export interface Route {
  view: string;
  params: Readonly<Record<string, string>>;
}

/** Parameters that stay when the view changes. */
const SHARED = ["run", "step", "device"];

/** The view of a URL that names none: a report of two runs begins with what it is about. */
const FIRST = isComparison() ? "compare" : "overview";

export const route = signal<Route>(read());
let followed = globalThis.location?.hash;

function read(): Route {
  const hash = globalThis.location?.hash.replace(/^#\/?/, "") ?? "";
  const [view = "", text = ""] = hash.split("?", 2);
  return { view: view || FIRST, params: Object.fromEntries(new URLSearchParams(text)) };
}

export function href(view: string, params: Record<string, string | number | undefined> = {}): string {
  const kept: Record<string, string> = {};
  for (const key of SHARED) {
    const value = route.value.params[key];
    if (value !== undefined) kept[key] = value;
  }
  return hash(view, { ...kept, ...params });
}

function hash(view: string, params: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Goes to another view; the run, step and device chosen stay. Can be undone with the browser's back. */
export function go(view: string, params: Record<string, string | number | undefined> = {}): void {
  location.hash = href(view, params);
  follow();
}

/** Takes the URL over at once: the event that tells of it may come after the next key. */
function follow(): void {
  if (location.hash === followed) return;
  followed = location.hash;
  route.value = read();
}

/** The URL as it is now. A link or the browser's back may have changed it before the event tells: none if it
    belongs to another view, whose way there must not be undone by what the old view still has to say. */
function current(): Route | undefined {
  const now = read();
  return now.view === route.value.view ? now : undefined;
}

/** Changes parameters of this view in place, without an entry in the history. `undefined` removes one. */
export function setParams(params: Record<string, string | number | undefined>): void {
  const now = current();
  if (!now) return;
  const next = hash(now.view, { ...now.params, ...params });
  if (next === location.hash) return;
  history.replaceState(null, "", next);
  follow();
}

/** As `setParams`, but the browser's back undoes it. */
export function pushParams(params: Record<string, string | number | undefined>): void {
  const now = current();
  if (!now) return;
  const next = hash(now.view, { ...now.params, ...params });
  if (next === location.hash) return;
  location.hash = next;
  follow();
}

/** Goes to another view instead of this one: the browser's back does not lead here again. */
export function replaceView(view: string): void {
  history.replaceState(null, "", hash(view, {}));
  follow();
}

export function param(name: string): string | undefined {
  return route.value.params[name];
}

export function numberParam(name: string): number | undefined {
  const text = route.value.params[name];
  const value = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

export function startRouting(): void {
  addEventListener("hashchange", follow);
}
