// One plain line at the end, for programs: `12 passed, 0 failed, 1 skipped`; before it, why some were skipped.

import type { FullConfig, Reporter, Suite, TestCase } from "@playwright/test/reporter";

export default class Count implements Reporter {
  #suite: Suite | undefined;

  onBegin(_config: FullConfig, suite: Suite): void {
    this.#suite = suite;
  }

  /** A test that did not come to run counts as failed, and so does one that passed only when tried again. */
  async onExit(): Promise<void> {
    const tests = this.#suite?.allTests() ?? [];
    const passed = tests.filter((test) => test.outcome() === "expected" && test.results.length > 0);
    const skipped = tests.filter((test) => reasonOf(test) !== undefined);
    const reasons = new Map<string, number>();
    for (const test of skipped) {
      const reason = reasonOf(test) ?? "";
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    const lines = [...reasons].sort().map(([reason, many]) => `${many} skipped: ${reason}\n`);
    const failed = tests.length - passed.length - skipped.length;
    process.stdout.write(
      `\n${lines.join("")}${passed.length} passed, ${failed} failed, ${skipped.length} skipped\n`,
    );
  }

  printsToStdio(): boolean {
    return false;
  }
}

/** Why a test was skipped; nothing if it was not skipped on purpose. */
function reasonOf(test: TestCase): string | undefined {
  if (test.outcome() !== "skipped") return undefined;
  const said = test.annotations.find(({ type }) => type === "skip" || type === "fixme");
  return said && (said.description ?? "no reason given");
}
