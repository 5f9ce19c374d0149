// Every page and record has an address, shows its answer, and says what it will hold when it is empty.

import { Project } from "./project.mjs";
import { addresses } from "./story.mjs";
import { expect, open, settled, test, visit } from "./fixtures.mjs";

const NAMES = Object.keys(addresses({}));

for (const name of NAMES) {
  test.describe(name, () => {
    test.use({ refusals: name === "missing" ? ["status of 404"] : [] });
    test(`the page ${name} shows its answer`, async ({ page, shop }) => {
      await open(page, shop.ui, addresses(shop.story)[name]);
      await expect(page.locator("main h1")).toHaveCount(1);
      await expect(page.locator("main h1")).toBeFocused();
      await expect(page.locator("main .problem")).toHaveCount(0);
      await expect(page.locator(".live")).toHaveText("live");
      await expect(page).toHaveTitle(/^\(\d+\) shop$/);
    });
  });
}

for (const path of [
  "/",
  "/stream",
  "/decisions",
  "/features",
  "/guards",
  "/map",
  "/preview",
  "/changes",
]) {
  test(`an empty memory: ${path} says what it will hold and how to fill it`, async ({
    page,
    project,
  }) => {
    const ui = await project.ui();
    await open(page, ui, path);
    await expect(page.locator("main .problem")).toHaveCount(0);
    if (path !== "/guards")
      await expect(page.locator("main .empty .command").first()).toContainText("twining");
    // Looking creates nothing.
    expect(await project.git("status", "--porcelain")).toBe("");
  });
}

test("any unambiguous beginning or end of an id leads to the record", async ({ page, shop }) => {
  await open(page, shop.ui, `/d/${shop.story.money.slice(-8)}`);
  await expect(page.locator("h1")).toHaveText("Money is integers of cents");
  expect(new URL(page.url()).pathname).toBe(`/d/${shop.story.money}`);
  await page.goto(`${shop.ui.origin}/e/${shop.story.finding.slice(-8)}`);
  await expect(page.locator("h1")).toContainText("The proxy strips");
  await page.goto(`${shop.ui.origin}/e/${shop.story.finding.slice(0, 20)}`);
  await expect(page.locator("h1")).toContainText("The proxy strips");
});

test("a decision whose code changed has a mark that says why", async ({ page, project }) => {
  const code = "export function hash(password) {\n  return bcrypt(password, 12, salt());\n}\n";
  project.write("src/hash.js", code);
  await project.git("add", "-A");
  await project.git("commit", "-qm", "hash");
  const { id } = await project.call("ada", "decide", {
    summary: "Hash with bcrypt",
    rationale: "bcrypt is slow on purpose",
    scope: "src/",
    affected_files: ["src/hash.js"],
    affected_symbols: ["hash"],
  });
  project.write("src/hash.js", code.replace("bcrypt", "argon"));
  const ui = await project.ui();
  await open(page, ui, `/d/${id}`);
  const mark = page.locator("main .code-mark").first();
  await expect(mark).toHaveText("code doubtful");
  await expect(mark).toHaveAttribute("title", /src\/hash\.js#hash; .*says `bcrypt`/);
});

test("the link's code becomes a key and leaves the address", async ({ page, shop }) => {
  await page.goto(await shop.ui.link());
  await settled(page);
  await expect(page.locator(".live")).toHaveText("live");
  expect(page.url()).toBe(`${shop.ui.origin}/`);
});

test.describe("without a key", () => {
  test.use({ refusals: ["status of 401", "status of 403"] });

  test("the page says how to get a link, and shows nothing", async ({ page, shop }) => {
    await page.goto(shop.ui.origin);
    await expect(page.locator("h1")).toHaveText("This page needs a fresh link");
    await expect(page.locator("main .command")).toContainText("twining ui");
    expect(await page.content()).not.toContain("Which port");
  });

  test("a link that was used before says so", async ({ page, browser, shop }) => {
    const link = await shop.ui.link();
    await page.goto(link);
    await expect(page.locator(".live")).toHaveText("live");
    const other = await browser.newContext();
    const second = await other.newPage();
    await second.goto(link);
    await expect(second.locator("h1")).toHaveText("This link was used before");
    await other.close();
  });
});

test("a link made without a terminal only reads, and says so", async ({ page, shop }) => {
  await page.goto(await shop.ui.link([], false));
  await settled(page);
  await expect(page.locator(".reads")).toHaveText("reads only");
  await page.locator(".item .buttons button").first().click();
  await expect(page.getByRole("dialog")).toContainText("This browser only reads");
  await expect(page.locator("dialog button[type=submit]")).toHaveCount(0);
  await expect(page.locator("dialog .command")).toContainText("twining");
});

test("filters are the address, and the address is the filter", async ({ page, shop }) => {
  await open(page, shop.ui, "/stream?type=question");
  await expect(page.locator(".option .summary")).toHaveText([
    "Which port does the proxy use in staging?",
  ]);
  await page.getByRole("button", { name: "question" }).click();
  await page.getByRole("button", { name: "need" }).click();
  await expect(page).toHaveURL(/type=need/);
  await expect(page.locator(".option .summary").last()).toHaveText(
    "Somebody with access must rotate the signing key",
  );
});

test("text that hides or turns is shown as code points", async ({ page, project }) => {
  await project.call("ada", "post", {
    entry_type: "finding",
    summary: "safe\u202Etxt.exe\u200b",
    detail: "a\u2066b",
  });
  await open(page, await project.ui(), "/stream");
  await expect(page.locator(".option .summary")).toHaveText("safeU+202Etxt.exeU+200B");
});

test("the themes are light, dark, and the system's", async ({ page, shop }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, shop.ui, "/");
  const background = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.keyboard.press("t");
  expect(await background()).toBe(light);
  await page.keyboard.press("t");
  expect(await background()).not.toBe(light);
  await page.reload();
  await settled(page);
  expect(await background()).not.toBe(light);
});

test("at 400 % nothing needs a second direction to scroll", async ({ page, shop }) => {
  test.setTimeout(180_000);
  await page.setViewportSize({ width: 320, height: 256 });
  await open(page, shop.ui, "/");
  for (const path of Object.values(addresses(shop.story))) {
    await visit(page, path);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, path).toBeLessThanOrEqual(320);
  }
});

test("a project without a memory: looking creates none", async ({ page }) => {
  const bare = await new Project("bare").init();
  await open(page, await bare.ui(), "/");
  await expect(page.locator("main .empty .command").first()).toContainText("twining init");
  expect(await bare.git("status", "--porcelain")).toBe("");
  await page.close();
  await bare.remove();
});
