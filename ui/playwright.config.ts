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
  // A busy machine may be late once; a test that fails twice is broken.
  retries: 1,
  forbidOnly: process.env.CI !== undefined,
  timeout: 90_000,
  expect: {
    timeout: 10_000,
    // Texts are drawn with the fonts of the machine: letters may differ, boxes and colors may not.
    toHaveScreenshot: { maxDiffPixelRatio: 0.06, threshold: 0.3, animations: "disabled", scale: "css" },
  },
  reporter: [["line"], ["./e2e/support/count.ts"]],
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
      ],
    },
  },
});
