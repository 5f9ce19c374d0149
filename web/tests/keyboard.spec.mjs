// The keyboard alone, with the focus never on `body`.

import { contradict } from "./story.mjs";
import { expect, open, test } from "./fixtures.mjs";

test.use({ refusals: ["status of 409"] });

async function press(page, key) {
  await page.keyboard.press(key);
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  expect(await page.evaluate(() => document.activeElement?.tagName), `after ${key}`).not.toBe(
    "BODY",
  );
}

test("load, and settle a contested decision in at most 12 keys and the reason", async ({
  page,
  project,
}) => {
  const { sessions } = await contradict(project);
  await open(page, await project.ui(), "/");
  await expect(page.locator(".item")).toHaveCount(1);
  let keys = 0;
  const key = async (name) => {
    keys++;
    await press(page, name);
  };
  await key("j");
  await expect(page.locator(".item h3 a")).toBeFocused();
  await key("s");
  await expect(page.locator("dialog [name=reason]")).toBeFocused();
  await page.keyboard.type("no store to run");
  await key("Enter");
  await expect(page.locator("dialog [name='confirm word']")).toBeFocused();
  for (const letter of await page.locator("dialog .word").textContent()) await key(letter);
  await key("Enter");
  await expect(page.locator(".result-inner")).toContainText("Done");
  await expect(page.locator(".item")).toHaveCount(0);
  expect(await page.evaluate(() => document.activeElement?.tagName)).not.toBe("BODY");
  expect(keys).toBeLessThanOrEqual(12);
  const { decisions } = await project.call("ada", "read", { ids: [sessions] });
  expect(decisions[0].status).toBe("overridden");
});

test("every page by its keys, and back to where one was", async ({ page, shop }) => {
  await open(page, shop.ui, "/");
  for (const [keys, path] of [
    ["gs", "/stream"],
    ["gd", "/decisions"],
    ["gf", "/features"],
    ["gg", "/guards"],
    ["gm", "/map"],
    ["gp", "/preview"],
    ["gh", "/health"],
    ["gn", "/"],
  ]) {
    for (const key of keys) await press(page, key);
    await expect(page).toHaveURL(shop.ui.origin + path);
  }
  await press(page, "g");
  await press(page, "s");
  await expect(page.locator(".option").first()).toBeVisible();
  for (const key of ["j", "j", "Enter"]) await press(page, key);
  await expect(page).toHaveURL(/\/e\//);
  await press(page, "Escape");
  await expect(page.locator(".virtual")).toBeFocused();
  await expect(page.locator(".option[aria-selected=true]")).toHaveAttribute("aria-posinset", "2");
});

test("focus returns to what opened a dialog", async ({ page, shop }) => {
  await open(page, shop.ui, "/");
  const button = page.locator(".item .buttons button").first();
  await button.focus();
  await press(page, "Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await press(page, "Escape");
  await expect(button).toBeFocused();
  await press(page, "Control+k");
  await expect(page.getByRole("combobox")).toBeFocused();
  await press(page, "Escape");
  await expect(button).toBeFocused();
});

test("the palette finds pages, actions of the chosen thing, and records", async ({
  page,
  shop,
}) => {
  await open(page, shop.ui, "/");
  await press(page, "j");
  await press(page, "Control+k");
  await expect(page.locator("#palette-list")).toContainText("Write a third…");
  await page.keyboard.type("proxy strips");
  await expect(page.locator("#palette-list [role=option]").first()).toContainText(
    "The proxy strips",
  );
  await press(page, "Enter");
  await expect(page).toHaveURL(`${shop.ui.origin}/e/${shop.story.finding}`);
});

test("single keys can be switched off, and rest in fields", async ({ page, shop }) => {
  await open(page, shop.ui, "/stream");
  await press(page, "/");
  await page.keyboard.type("gn?");
  await expect(page.locator("input[type=search]")).toHaveValue("gn?");
  await page.locator("input[type=search]").fill("");
  await page.keyboard.press("Escape");
  await press(page, "?");
  await page.getByRole("dialog").getByRole("checkbox").uncheck();
  await page.getByRole("button", { name: "Close" }).click();
  await press(page, "g");
  await press(page, "n");
  await expect(page).toHaveURL(/\/stream/);
});

test("the address and the command are copied", async ({ page, context, shop }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, shop.ui, "/stream?type=warning");
  await press(page, "y");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    `${shop.ui.origin}/stream?type=warning`,
  );
  await press(page, "Y");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    "twining recent --type warning",
  );
});

test("the map moves by keys and buttons, and its table has the same", async ({ page, shop }) => {
  await open(page, shop.ui, "/map");
  const nodes = await page.locator("svg a.node").count();
  expect(nodes).toBeGreaterThan(3);
  const at = () => page.locator("svg a.node circle").first().getAttribute("cx");
  const before = await at();
  await page.getByRole("button", { name: "Move right" }).click();
  expect(await at()).not.toBe(before);
  await page.locator("svg a.node").first().focus();
  await page.keyboard.press("ArrowLeft");
  expect(Number(await at())).toBeCloseTo(Number(before), 0);
  await page.getByRole("button", { name: "Table" }).click();
  await expect(page.locator("tbody tr")).toHaveCount(nodes);
});
