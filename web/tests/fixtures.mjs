// What every browser test has: a page that is watched, and a project with a story.
//
// Watched means: no error on the console, no exception, no violation of the content security
// policy, and no request to anybody but the server under test.

import { readFileSync } from "node:fs";
import path from "node:path";
import { test as base, expect } from "@playwright/test";
import { Project } from "./project.mjs";
import { tellStory } from "./story.mjs";

export { expect };

export const test = base.extend({
  /** Refusals that a test provokes: Chromium reports each as an error on the console. */
  refusals: [[], { option: true }],

  /** A project of this test alone. */
  project: async ({ context }, use) => {
    const project = await new Project().init();
    await use(project);
    // Pages first: one whose server ends says so on the console.
    await Promise.all(context.pages().map((page) => page.close()));
    await project.remove();
  },

  /** A believable project with a server, shared by tests that only look. */
  shop: [
    async ({}, use) => {
      const project = await new Project().init();
      const story = await tellStory(project);
      const ui = await project.ui();
      await use({ project, story, ui });
      await project.remove();
    },
    { scope: "worker", timeout: 120_000 },
  ],

  troubles: [
    async ({ context, refusals }, use) => {
      const troubles = [];
      await context.exposeBinding("reportViolation", (_, text) => troubles.push(`CSP: ${text}`));
      await context.addInitScript(() => {
        addEventListener("securitypolicyviolation", (event) =>
          window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
        );
      });
      const watch = (page) => {
        page.on("console", (message) => {
          if (message.type() !== "error") return;
          const isExpected = refusals.some((refusal) =>
            `${message.text()} ${message.location().url}`.includes(refusal),
          );
          if (!isExpected) troubles.push(`console: ${message.text()} ${message.location().url}`);
        });
        page.on("pageerror", (error) =>
          troubles.push(`exception: ${error.stack ?? error.message}`),
        );
        page.on("dialog", (dialog) => {
          troubles.push(`dialog: ${dialog.message()}`);
          void dialog.dismiss();
        });
        page.on("request", (request) => {
          if (new URL(request.url()).hostname !== "127.0.0.1")
            troubles.push(`request: ${request.url()}`);
        });
      };
      context.on("page", watch);
      if (process.env.TWINING_DIST) await fromDist(context);
      await use(troubles);
      expect(troubles).toEqual([]);
    },
    { auto: true },
  ],
});

/** For work on the page: files as `web/dist` has them now, with the headers of the real server. */
async function fromDist(context) {
  const dist = path.join(import.meta.dirname, "../dist");
  const manifest = JSON.parse(readFileSync(path.join(dist, "manifest.json"), "utf8"));
  const shells = new Map();
  await context.route(
    (url) => !/^\/(api|events|key)/.test(url.pathname),
    async (route) => {
      const { pathname, origin } = new URL(route.request().url());
      const asset = manifest.find(({ url }) => url === pathname);
      if (!asset || !shells.has(origin))
        shells.set(origin, await route.fetch(asset ? { url: `${origin}/` } : {}));
      const body = readFileSync(path.join(dist, asset?.file ?? "index.html"));
      await route.fulfill({
        response: shells.get(origin),
        ...(asset && { status: 200 }),
        body,
        contentType: asset?.type ?? "text/html; charset=utf-8",
      });
    },
  );
}

/** Opens a page of the server as a person whose name is known. */
export async function open(page, ui, path = "/", { name = "kim", theme } = {}) {
  await page.context().addInitScript(
    ([origin, key, name, theme]) => {
      if (location.origin !== origin) return;
      localStorage.setItem("twining.key", key);
      if (name) localStorage.setItem("twining.name", name);
      if (theme) localStorage.setItem("twining.theme", theme);
    },
    [ui.origin, await ui.key(), name, theme],
  );
  await page.goto(ui.origin + path);
  await settled(page);
}

/** Waits until the page shows its answers. */
export async function settled(page) {
  await expect(page.locator("main h1")).not.toHaveText("Loading …");
  await expect(page.locator("main .loading")).toHaveCount(0);
}

/** Goes to another address of ours without loading the page again. */
export async function visit(page, path) {
  await page.evaluate((path) => {
    const link = document.createElement("a");
    link.setAttribute("href", path);
    document.body.append(link);
    link.click();
    link.remove();
  }, path);
  await settled(page);
}

/** Fills the open dialog and sends it, with the word it asks for if it does. */
export async function settle(page, button, fields = {}) {
  const dialog = page.getByRole("dialog");
  await expect(dialog).toBeVisible();
  for (const [name, text] of Object.entries(fields))
    await dialog.locator(`[name="${name}"]`).fill(text);
  await dialog.locator("button[type=submit]").click();
  const word = dialog.locator(".word");
  await expect(word.or(page.locator(".result-inner"))).toBeVisible();
  if (await word.isVisible()) {
    await dialog.locator("[name='confirm word']").fill(await word.textContent());
    await dialog.locator("button[type=submit]").click();
  }
  await expect(dialog).toBeHidden();
}
