// What other processes do appears by itself; nothing under pointer or focus moves.

import { entryLines } from "./entries.mjs";
import { bash, contradict, setGuards } from "./story.mjs";
import { expect, open, test } from "./fixtures.mjs";

const total = (page) => page.locator(".list-panel .count").first();

test("a post of another process slides in at the top", async ({ page, project }) => {
  await project.call("ada", "post", { entry_type: "finding", summary: "first" });
  await open(page, await project.ui(), "/stream");
  await expect(page.locator(".option .summary")).toHaveText(["first"]);
  await project.call("bob", "post", { entry_type: "finding", summary: "second" });
  await expect(page.locator(".option .summary")).toHaveText(["second", "first"]);
});

test("a contradiction of two processes is in the inbox, and in the title", async ({
  page,
  project,
}) => {
  await project.call("ada", "post", { entry_type: "status", summary: "at work" });
  await open(page, await project.ui(), "/");
  await expect(page).toHaveTitle("shop");
  await contradict(project);
  await expect(page.locator(".item .badge")).toHaveText(["contested"]);
  await expect(page).toHaveTitle("(1) shop");
});

test("a call that a hook stops appears with its guard", async ({ page, project }) => {
  setGuards(project);
  await project.call("ada", "post", { entry_type: "status", summary: "at work" });
  await open(page, await project.ui(), "/g/no-force-push");
  await expect(page.locator(".list-panel .empty")).toBeVisible();
  await bash(project, "git push -f origin main");
  await expect(page.locator(".option .summary")).toContainText(["git push -f origin main"]);
});

test("a checkout of another branch shows that branch's memory", async ({ page, project }) => {
  await project.call("ada", "decide", { summary: "On main", rationale: "r", scope: "a/" });
  await project.git("add", "-A");
  await project.git("commit", "-qm", "memory");
  await project.git("checkout", "-qb", "side");
  await project.call("ada", "decide", { summary: "On the side", rationale: "r", scope: "b/" });
  await project.git("add", "-A");
  await project.git("commit", "-qm", "more");
  await open(page, await project.ui(), "/decisions");
  await expect(page.locator(".branch")).toHaveText("side");
  await expect(page.locator(".option .summary")).toHaveText(["On the side", "On main"]);
  await project.git("checkout", "-q", "main");
  await expect(page.locator(".branch")).toHaveText("main");
  await expect(page.locator(".option .summary")).toHaveText(["On main"]);
});

test("5,000 entries in one write are all counted, and the last of them fills after a jump", async ({
  page,
  project,
}) => {
  await project.call("ada", "post", { entry_type: "finding", summary: "first" });
  await open(page, await project.ui(), "/stream");
  await expect(total(page)).toHaveText("1");
  project.append(".twining/blackboard.jsonl", entryLines(5000));
  await expect(total(page)).toHaveText("5,001");
  await page.locator(".virtual").focus();
  await page.keyboard.press("End");
  await expect(page.locator(".option").last()).toHaveAttribute("aria-posinset", "5001");
  await expect(page.locator(".option .pending")).toHaveCount(0);
  expect(await page.locator(".option").count()).toBeLessThanOrEqual(60);
});

test("nothing moves under the focus: what is new waits behind a pill", async ({
  page,
  project,
}) => {
  await project.call("ada", "post", { entry_type: "finding", summary: "first" });
  await open(page, await project.ui(), "/stream");
  await expect(page.locator(".option .summary")).toHaveText(["first"]);
  await page.keyboard.press("j");
  await expect(page.locator("aside h2")).toHaveText("first");
  await project.call("bob", "post", { entry_type: "finding", summary: "second" });
  await expect(page.locator(".pill")).toHaveText("1 new");
  await expect(page.locator(".option .summary")).toHaveText(["first"]);
  await page.locator(".pill").click();
  await expect(page.locator(".option .summary")).toHaveText(["second", "first"]);
});

test("a paused page stands still, and catches up", async ({ page, project }) => {
  await project.call("ada", "post", { entry_type: "finding", summary: "first" });
  await open(page, await project.ui(), "/stream");
  await expect(page.locator(".live")).toHaveText("live");
  await page.keyboard.press("Space");
  await expect(page.locator(".live")).toHaveText("paused");
  await project.call("bob", "post", { entry_type: "finding", summary: "second" });
  const other = await page.context().newPage();
  await open(other, project.servers[0], "/stream");
  await expect(other.locator(".option .summary")).toHaveText(["second", "first"]);
  await expect(page.locator(".option .summary")).toHaveText(["first"]);
  await page.keyboard.press("Space");
  await expect(page.locator(".option .summary")).toHaveText(["second", "first"]);
});

test("nine tabs share one stream, all hear, and the next one takes over", async ({
  context,
  project,
}) => {
  await project.call("ada", "post", { entry_type: "finding", summary: "first" });
  const ui = await project.ui();
  let streams = 0;
  context.on("request", (request) => {
    if (new URL(request.url()).pathname === "/events") streams++;
  });
  const pages = [];
  for (let i = 0; i < 9; i++) {
    const page = await context.newPage();
    await open(page, ui, "/stream");
    await expect(page.locator(".live")).toHaveText("live");
    pages.push(page);
  }
  expect(streams).toBe(1);
  await project.call("bob", "post", { entry_type: "finding", summary: "second" });
  for (const page of pages) await expect(total(page)).toHaveText("2");
  await pages[0].close();
  await expect.poll(() => streams).toBe(2);
  await project.call("bob", "post", { entry_type: "finding", summary: "third" });
  for (const page of pages.slice(1)) await expect(total(page)).toHaveText("3");
});

test.describe("a server that ends", () => {
  test.use({
    refusals: [
      "ERR_CONNECTION_REFUSED",
      "ERR_INCOMPLETE_CHUNKED_ENCODING",
      "ERR_CONNECTION_RESET",
      "ERR_EMPTY_RESPONSE",
      "status of 401",
    ],
  });

  test("and comes back is picked up by pages that were open", async ({
    page,
    context,
    project,
  }) => {
    await project.call("ada", "post", { entry_type: "finding", summary: "first" });
    const first = await project.ui();
    // Only once, unlike `open`: the key changes with the server.
    await page.goto(`${first.origin}/stream${new URL(first.firstLink).hash}`);
    await expect(page.locator(".live")).toHaveText("live");
    await first.stop();
    await expect(page.locator(".live")).toHaveText(/reconnecting|ended/);
    await project.call("bob", "post", { entry_type: "finding", summary: "meanwhile" });
    const second = await project.ui({ port: first.port });
    const other = await context.newPage();
    await other.goto(second.firstLink);
    await expect(other.locator(".live")).toHaveText("live");
    await expect(page.locator(".live")).toHaveText("live");
    await expect(page.locator(".option .summary")).toHaveText(["meanwhile", "first"]);
  });
});

test.describe("two real agents", () => {
  test.use({ refusals: ["status of 409"] });

  test("contradict each other, a person settles it, and the loser's next context knows", async ({
    page,
    project,
  }) => {
    const agents = { ada: await project.agent("ada"), bob: await project.agent("bob") };
    await open(page, await project.ui(), "/");
    await expect(page.locator(".item")).toHaveCount(0);
    const { jwt, sessions } = await contradict(project, (agent, decision) =>
      agents[agent].call("twining_decide", decision),
    );
    await expect(page.locator(".item .badge")).toHaveText(["contested"]);
    await page.keyboard.press("j");
    await page.keyboard.press("s");
    await page.getByRole("dialog").locator("[name=reason]").fill("no store to run");
    await page.keyboard.press("Enter");
    const word = page.locator("dialog .word");
    await page.locator("dialog [name='confirm word']").fill(await word.textContent());
    await page.keyboard.press("Enter");
    await expect(page.locator(".result-inner")).toContainText("Done");
    const context = await agents.bob.call("twining_assemble", {
      task: "open sessions in redis",
      scope: "src/auth/session.ts",
    });
    expect(context.active_decisions.map(({ id }) => id)).toEqual([jwt]);
    expect(context.overridden).toMatchObject([
      { id: sessions, by: "kim", reason: "no store to run" },
    ]);
  });
});
