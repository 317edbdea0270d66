// What runs inside Stepscope's page. Each function is sent there by itself and sees nothing of this file.

/**
 * From the page's first moment: keeps long tasks, and the moment of the first slices or figures.
 * Grid lines are drawn before any data is there, so slices are counted, not rectangles.
 */
export function watchPage(wanted) {
  const bench = { longTasks: [], at: undefined, trouble: undefined };
  window.stepscopeBench = bench;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) bench.longTasks.push([one.startTime, one.duration]);
  }).observe({ type: "longtask", buffered: true });
  const seen = () => {
    if (wanted === "slices") {
      const stats = window.stepscopeStats;
      return stats !== undefined && stats.shown + stats.counted > 0;
    }
    return [...document.querySelectorAll(".metric-value")].some((one) => /\d/.test(one.textContent));
  };
  const look = () => {
    if (seen()) {
      bench.at = performance.timeOrigin + performance.now();
      return;
    }
    bench.trouble = document.querySelector(".trouble, .empty-title")?.textContent;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** The moment of the first slices or figures, when it has come. */
export function firstSeen() {
  return new Promise((resolve, reject) => {
    const look = () => {
      const { at, trouble } = window.stepscopeBench;
      if (at !== undefined) resolve(at);
      else if (trouble) reject(new Error(trouble));
      else setTimeout(look, 20);
    };
    look();
  });
}

/** When nothing more is awaited. */
export async function stillAt() {
  await window.stepscopeIdle();
  return performance.timeOrigin + performance.now();
}

export async function still() {
  await window.stepscopeIdle();
}

/** Begins to keep each frame: `[time, frames drawn by the timeline, its draw calls, its milliseconds, rectangles]`. */
export function keepFrames() {
  const bench = window.stepscopeBench;
  const kept = { since: performance.now(), frames: [], on: true };
  bench.kept = kept;
  const look = (now) => {
    const stats = window.stepscopeStats;
    kept.frames.push([now, stats.frames, stats.drawCalls, stats.frameMs, stats.quads]);
    if (kept.on) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Ends it; long tasks are told a moment after they happened. */
export async function takeFrames() {
  const { kept, longTasks } = window.stepscopeBench;
  kept.on = false;
  const until = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const inside = longTasks.filter(([start]) => start >= kept.since && start <= until);
  return { frames: kept.frames, longTasks: inside.map(([, ms]) => ms), backend: window.stepscopeStats.backend };
}

/** Times from an event until a text is in the document, and until the frame after that has been drawn. */
export function armTimer({ event, selector, pattern }) {
  const bench = window.stepscopeBench;
  const ready = () => {
    const text = document.querySelector(selector)?.textContent ?? "";
    return new RegExp(pattern, "u").test(text) ? text : undefined;
  };
  if (ready() !== undefined) throw new Error(`${selector} is there before it was asked for`);
  let began;
  const on = (one) => {
    began ??= one.timeStamp;
  };
  addEventListener(event, on, { capture: true });
  bench.timed = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const text = began === undefined ? undefined : ready();
      if (text === undefined) return;
      observer.disconnect();
      removeEventListener(event, on, { capture: true });
      const shown = performance.now();
      // The next frame has been drawn when a task runs after its callbacks.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve({ began, shown, ended: performance.now(), text });
        port2.postMessage(0);
      });
    });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  });
}

export function takeTimer() {
  return window.stepscopeBench.timed;
}
