// Whatever was started is ended: when it is done with, on failure, on Ctrl-C.

const open = new Set();
const children = new Set();

/** Remembers how to end something; gives a function that ends it once. */
export function whenDone(end) {
  const once = async () => {
    if (open.delete(once)) await end();
  };
  open.add(once);
  return once;
}

/** A child process that must not outlive this one. */
export function childOf(child) {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** Ends a child: politely, then not. */
export async function stopChild(child, patienceMs = 3000) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  await gone;
  clearTimeout(timer);
}

/** Ends all that is open, the newest first. */
export async function endAll() {
  for (const end of [...open].reverse()) {
    try {
      await Promise.race([end(), new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
    } catch {
      // The rest must be ended all the same.
    }
  }
}

let ending = false;

/** Whether a signal came: what fails then has failed because of it. */
export function isEnding() {
  return ending;
}

export function watchSignals() {
  for (const [signal, status] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ]) {
    process.once(signal, () => {
      ending = true;
      process.stderr.write(`\nbench: ${signal}, ending what was started\n`);
      void endAll().then(() => process.exit(status));
    });
  }
  // Playwright ends its browsers here as well.
  process.on("exit", () => {
    for (const child of children) child.kill("SIGKILL");
  });
}
