// What the whole page shares: where data comes from, which runs there are, how loading goes.

import { computed, effect, signal } from "@preact/signals";
import { HttpSource } from "../data/http.ts";
import { packedSource } from "../data/pack.ts";
import { problemOf, type Source } from "../data/source.ts";
import type { ListedRun, Problem, SessionInfo } from "../data/types.ts";
import { numberParam } from "./route.ts";

export const online = signal(true);
export const loading = signal<{ run: number; read: number; total: number } | undefined>(undefined);
export const runs = signal<SessionInfo | undefined>(undefined);
export const runsProblem = signal<Problem | undefined>(undefined);

export const source: Source =
  packedSource() ??
  new HttpSource({
    loading(run, read, total) {
      loading.value = { run, read, total };
    },
    online(yes) {
      online.value = yes;
    },
  });

/** Whether a run that is still being recorded is shown as it grows. */
export const following = signal(true);

/** The run looked at: the one in the URL, else the first. */
export const run = computed<ListedRun | undefined>(() => {
  const all = runs.value?.runs ?? [];
  const asked = numberParam("run");
  return all.find((r) => r.id === asked) ?? all[0];
});

/** Its number, which changes only when another run is chosen. */
export const runId = computed(() => run.value?.id);

/** Whether a watched service is all there is to look at. */
export const serviceAlone = computed(() => runs.value?.service != null && runs.value.runs.length === 0);

/** Whether a view can have anything to show: without a run, only those that need none. */
export function isOffered(view: string): boolean {
  if (view === "service") return runs.value?.service != null;
  if (view === "history" && runs.value?.history === true) return true;
  return !serviceAlone.value;
}

const WATCH_MS = 2000;
const LOAD_MS = 150;

/** Keeps the list of runs fresh: often while one loads, now and then while a folder is watched. */
export function startWatching(): void {
  const look = async () => {
    try {
      runs.value = await source.runs(following.value);
      runsProblem.value = undefined;
    } catch (error) {
      runsProblem.value = problemOf(error);
    }
    // What a service writes is announced by its own events.
    if (source.isReport || serviceAlone.value) return;
    const busy = runs.value?.runs.some((r) => r.state === "loading");
    setTimeout(look, busy ? LOAD_MS : WATCH_MS);
  };
  void look();
  // A run that is ready loads no more.
  effect(() => {
    const at = loading.value;
    if (at && runs.value?.runs.find((r) => r.id === at.run)?.state === "ready") loading.value = undefined;
  });
}
