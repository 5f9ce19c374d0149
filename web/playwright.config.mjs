// Browser tests with the Chromium of the distribution; `scripts/browser` runs them.

import { execFileSync } from "node:child_process";
import { defineConfig } from "@playwright/test";

const chromium =
  process.env.TWINING_CHROMIUM ??
  execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "tests",
  testMatch: "*.spec.mjs",
  outputDir: "test-results",
  snapshotPathTemplate: "tests/screenshots/{arg}{ext}",
  fullyParallel: true,
  workers: 2,
  timeout: 60_000,
  // A shared machine may stall for longer than a test waits; what needed a second try is reported.
  retries: process.env.CI ? 2 : 0,
  reporter: process.env.CI ? "list" : "line",
  expect: {
    timeout: 10_000,
    toHaveScreenshot: { maxDiffPixelRatio: 0.01, animations: "disabled" },
  },
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    launchOptions: {
      executablePath: chromium,
      args: ["--host-resolver-rules=MAP evil.test 127.0.0.1", ...(isRoot ? ["--no-sandbox"] : [])],
    },
  },
});
