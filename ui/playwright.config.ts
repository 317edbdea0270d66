import { defineConfig } from "@playwright/test";
import { chromium } from "./e2e/support/browser.ts";

// The browser tests: the real program, real traces, the machine's own Chromium. Nothing is downloaded.
// `npx playwright test --update-snapshots` takes the pictures anew.
export default defineConfig({
  testDir: "./e2e",
  outputDir: "./test-results",
  snapshotPathTemplate: "{testDir}/goldens/{arg}{ext}",
  fullyParallel: true,
  workers: 2,
  // A test waits for a state, never for a time: one that fails once is broken.
  retries: 0,
  forbidOnly: process.env.CI !== undefined,
  timeout: 90_000,
  expect: {
    // Only a test that fails takes as long; a busy machine may need some of it.
    timeout: 20_000,
    // Texts are drawn with the fonts of the machine: letters may differ, boxes and colors may not.
    toHaveScreenshot: { maxDiffPixelRatio: 0.06, threshold: 0.3, animations: "disabled", scale: "css" },
  },
  reporter: [
    ["line"],
    ["./e2e/support/count.ts"],
    [
      "junit",
      { outputFile: process.env.PLAYWRIGHT_JUNIT_OUTPUT_NAME ?? "../target/test-report/playwright.xml" },
    ],
  ],
  use: {
    browserName: "chromium",
    viewport: { width: 1440, height: 900 },
    colorScheme: "light",
    contextOptions: { reducedMotion: "reduce" },
    locale: "en-US",
    timezoneId: "UTC",
    trace: "off",
    launchOptions: {
      executablePath: chromium(),
      args: [
        "--no-sandbox",
        "--font-render-hinting=none",
        "--disable-lcd-text",
        "--force-device-scale-factor=1",
        "--hide-scrollbars",
        "--ignore-gpu-blocklist",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        // WebGL is drawn by SwiftShader, everything else without it: that halves the processor time of a page.
        "--disable-gpu-rasterization",
        "--disable-gpu-compositing",
      ],
    },
  },
});
