// Counts what is under way, so that tests can wait for a page that is still.

let awaited = 0;
const waiting: (() => void)[] = [];

/** One more thing is awaited, or one less. */
export function busy(change: 1 | -1): void {
  awaited += change;
  if (awaited === 0) for (const done of waiting.splice(0)) done();
}

/** Resolves when nothing is awaited and two frames have been drawn. */
export async function whenIdle(): Promise<void> {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  for (;;) {
    if (awaited > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    await frame();
    await frame();
    if (awaited === 0) return;
  }
}
