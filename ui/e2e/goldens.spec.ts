// Pictures of the main views, light and dark. They are compared loosely: fonts differ from machine to machine, while
// a lane that is missing, a chart without its bars or a wrong ground is far more than the tolerance.
// `npx playwright test goldens --update-snapshots` takes them anew; look at them before they are committed.

import { expect, idle, test } from "./support/fixtures.ts";
import { TRACES, type ViewId } from "./support/paths.ts";

interface Picture {
  view: ViewId;
  trace: string;
  params?: Record<string, string | number>;
}

const PICTURES: Record<string, Picture> = {
  overview: { view: "overview", trace: TRACES.gpt },
  timeline: { view: "timeline", trace: TRACES.gpt },
  "timeline-canvas": { view: "timeline", trace: TRACES.gpt, params: { gl: 0 } },
  operators: { view: "operators", trace: TRACES.gpt },
  flame: { view: "flame", trace: TRACES.stacks },
  memory: { view: "memory", trace: TRACES.gpt },
  roofline: { view: "diagnosis", trace: TRACES.gpt, params: { tab: "roofline" } },
};

for (const scheme of ["light", "dark"] as const) {
  test.describe(scheme, () => {
    test.use({ colorScheme: scheme, viewport: { width: 1280, height: 720 } });

    for (const [name, { view, trace, params }] of Object.entries(PICTURES)) {
      test(`${name} looks as it did`, async ({ page, open }) => {
        await open(trace, view, params);
        await page.mouse.move(0, 0);
        await idle(page);
        await expect(page).toHaveScreenshot(`${name}-${scheme}.png`);
      });
    }
  });
}
