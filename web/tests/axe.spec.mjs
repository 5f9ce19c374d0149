// WCAG 2.2 A and AA by axe: every page, both themes, three widths; nothing found.

import AxeBuilder from "@axe-core/playwright";
import { addresses } from "./story.mjs";
import { expect, open, settled, test } from "./fixtures.mjs";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

// A page that is not there is a 404.
test.use({ refusals: ["status of 404"] });

async function found(page) {
  const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze();
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`,
  );
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 768, 390]) {
    for (const name of Object.keys(addresses({}))) {
      test(`${name}, ${colorScheme}, ${width}`, async ({ page, shop }) => {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        await open(page, shop.ui, addresses(shop.story)[name]);
        expect(await found(page)).toEqual([]);
      });
    }

    test(`dialogs, ${colorScheme}, ${width}`, async ({ page, shop }) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await open(page, shop.ui, "/");
      await page.locator(".item .buttons button").first().click();
      await expect(page.getByRole("dialog")).toBeVisible();
      expect(await found(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("combobox")).toBeVisible();
      expect(await found(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog")).toBeVisible();
      await settled(page);
      expect(await found(page)).toEqual([]);
    });
  }
}
