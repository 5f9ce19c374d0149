// How every page looks, light and dark, compared with pictures taken before.
//
// What differs from run to run is made the same first: the clock stands, and ids, times of day and
// folders of the machine are replaced.

import { addresses } from "./story.mjs";
import { expect, open, test } from "./fixtures.mjs";

test.use({ refusals: ["status of 404"], viewport: { width: 1280, height: 720 } });

async function picture(page, shop, colorScheme, path, name) {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.clock.setFixedTime(shop.story.at);
  await open(page, shop.ui, path);
  await expect(page.locator(".live")).toHaveText("live");
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      const isEnd = / until $/.test(parentElement.previousSibling?.data ?? "");
      const same = data
        .replace(/\b01[0-9A-Z]{24}\b/g, "01M7XXXXXXXXXXXXXXXXXXXXXX")
        .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-17T12:00:00.000Z")
        // After ten in the evening a claim ends on another day.
        .replace(isEnd ? /^\d{4}-\d\d-\d\d / : "", "")
        .replace(/\b\d{4}-\d\d-\d\d\b/g, "2026-11-17")
        .replace(/\b\d\d:\d\d\b/g, "12:00")
        .replace(/\bpattern-[0-9a-f]{16}\b/g, "pattern-0000000000000000")
        .replace(/(^|\s)\/[\w.-]+\/[\w./-]+/g, "$1/folder");
      if (same !== data) texts.currentNode.data = same;
    }
  });
  // What is told first depends on how far the embedding of texts has come.
  const mask = name === "preview" ? [page.locator(".rows, .text pre, .budget")] : [];
  await expect(page).toHaveScreenshot(`${name}-${colorScheme}.png`, { mask });
}

for (const colorScheme of ["light", "dark"]) {
  for (const name of Object.keys(addresses({}))) {
    test(`${name}, ${colorScheme}`, async ({ page, shop }) => {
      await picture(page, shop, colorScheme, addresses(shop.story)[name], name);
    });
  }

  test(`a phone, ${colorScheme}`, async ({ page, shop }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await picture(page, shop, colorScheme, "/", "phone");
  });
}
