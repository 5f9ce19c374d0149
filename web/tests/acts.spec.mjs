// Every act: the dialog says what will hold, the reply is shown, the memory has it, the inverse is offered.

import { blockFeature, contradict, makeOlder, setGuards, bash } from "./story.mjs";
import { expect, open, settle, test } from "./fixtures.mjs";

// A confirmation that is asked for is a 409 to the browser.
test.use({ refusals: ["status of 409"] });

async function decision(project, id) {
  return (await project.call("ada", "read", { ids: [id] })).decisions[0];
}

async function item(page, ui, kind) {
  await open(page, ui, "/");
  const found = page.locator(".item", { has: page.locator(".badge", { hasText: kind }) }).first();
  await expect(found).toBeVisible();
  return found;
}

test("settle a contested decision: the newcomer takes the place of the other", async ({
  page,
  project,
}) => {
  const { jwt, sessions } = await contradict(project);
  const contested = await item(page, await project.ui(), "contested");
  await contested.getByRole("button", { name: /^Take/ }).click();
  await expect(page.locator("dialog .then")).toContainText("overridden");
  await expect(page.locator("dialog .command")).toContainText("twining promote");
  await settle(page, "Take", { reason: "we must be able to log people out" });
  await expect(page.locator(".result-inner")).toContainText("Done");
  await expect(contested).toBeHidden();
  expect((await decision(project, sessions)).status).toBe("active");
  const loser = await decision(project, jwt);
  expect(loser.status).toBe("overridden");
  expect(loser.overridden_by).toBe("kim");
  expect(loser.override_authority).toBe("confirmed");
  expect(loser.override_reason).toBe("we must be able to log people out");
  await expect(page.locator(".result-inner button").first()).toHaveText("Reconsider…");
});

test("settle a contested decision: what is in force stays, and the page of the decision says so", async ({
  page,
  project,
}) => {
  const { jwt, sessions } = await contradict(project);
  const ui = await project.ui();
  await open(page, ui, `/d/${sessions}`);
  await expect(page.locator(".columns.even > section")).toHaveCount(2);
  await page
    .locator(".actions")
    .getByRole("button", { name: /^Keep "/ })
    .click();
  await settle(page, "Keep", { reason: "no store to run" });
  await expect(page.locator(".page-title .badge")).toHaveText("overridden");
  expect((await decision(project, jwt)).status).toBe("active");
  await expect(page.locator(".result-inner button").first()).toHaveText("Decide…");
});

test("keep both: they contest each other no more", async ({ page, project }) => {
  await contradict(project);
  const contested = await item(page, await project.ui(), "contested");
  await contested.getByRole("button", { name: "Keep both" }).click();
  await expect(page.locator("dialog .then")).toContainText("no longer shown as contradicting");
  await settle(page, "Keep both", { reason: "one for people, one for machines" });
  await expect(contested).toBeHidden();
  const why = await project.call("ada", "why", { scope: "src/auth/" });
  expect(why).toMatchObject({ contested: false, active_count: 2 });
});

test("a third decision replaces both", async ({ page, project }) => {
  const { jwt, sessions } = await contradict(project);
  const contested = await item(page, await project.ui(), "contested");
  await contested.getByRole("button", { name: "Write a third" }).click();
  await settle(page, "Write a third", { new_decision: "Use paseto tokens with a short life" });
  expect((await decision(project, jwt)).status).toBe("overridden");
  expect((await decision(project, sessions)).status).toBe("overridden");
  await page.goto(new URL("/decisions", page.url()).href);
  await expect(page.locator(".option .summary").first()).toHaveText(
    "Use paseto tokens with a short life",
  );
});

test("answer a question, and what was removed from the answer is said", async ({
  page,
  project,
}) => {
  const { id } = await project.call("bob", "post", {
    entry_type: "question",
    summary: "Which port?",
    scope: "src/net/",
  });
  makeOlder(project, id, 25);
  const question = await item(page, await project.ui(), "question");
  await question.getByRole("button", { name: "Answer" }).click();
  await settle(page, "Answer", { summary: "8443, the key is AKIAIOSFODNN7EXAMPLF" });
  await expect(page.locator(".result-inner .remark")).toContainText("Removed before it was stored");
  await expect(question).toBeHidden();
  const { entries } = await project.call("ada", "recent", { entry_types: ["answer"] });
  expect(entries[0].agent_id).toBe("kim");
  expect(entries[0].relates_to).toEqual([id]);
  expect(entries[0].origin).toMatchObject({ via: "web", trust: "human" });
});

test("dismiss, and post it again", async ({ page, project }) => {
  const { id } = await project.call("bob", "post", {
    entry_type: "need",
    summary: "Rotate the key",
    scope: "src/auth/",
  });
  makeOlder(project, id, 25);
  const need = await item(page, await project.ui(), "need");
  await need.getByRole("button", { name: "Dismiss" }).click();
  await settle(page, "Dismiss", { reason: "done yesterday" });
  await expect(need).toBeHidden();
  await page.locator(".result-inner").getByRole("button", { name: "Post it again…" }).click();
  await settle(page, "Post it again");
  const { entries } = await project.call("ada", "recent", { entry_types: ["need"] });
  expect(entries.map((entry) => entry.summary)).toEqual(["Rotate the key", "Rotate the key"]);
  await page.goto(new URL("/?settled=1", page.url()).href);
  await expect(page.locator(".item .settled").first()).toContainText(
    /dismissed by kim.*done yesterday/,
  );
});

test("reopen a blocked feature", async ({ page, project }) => {
  await blockFeature(project);
  const blocked = await item(page, await project.ui(), "blocked");
  await blocked.getByRole("button", { name: "Reopen" }).click();
  await settle(page, "Reopen", { summary: "the fixtures were wrong" });
  await expect(blocked).toBeHidden();
  const { features } = await project.call("ada", "features", { id: "F9" });
  expect(features[0].status).toBe("pending");
});

test("promote a proposed guard: it blocks", async ({ page, project }) => {
  const { proposed } = setGuards(project);
  const waiting = await item(page, await project.ui(), "proposed");
  await waiting.getByRole("button", { name: "Promote" }).click();
  await settle(page, "Promote");
  await expect(waiting).toBeHidden();
  expect((await bash(project, "psql -c 'select 1'")).out).toContain("deny");
  expect(project.read(".twining/policy.yml")).not.toContain("status: proposed");
  await page.goto(new URL(`/g/${proposed}`, page.url()).href);
  await expect(page.locator(".option .summary")).toHaveText(["Bash: psql -c 'select 1'"]);
  await expect(page.locator(".panel", { hasText: "Said about it" })).toContainText("was promoted");
});

test.describe("refused", () => {
  test.use({ refusals: ["status of 409", "status of 403"] });

  test("the wrong word promotes nothing", async ({ page, project }) => {
    setGuards(project);
    const waiting = await item(page, await project.ui(), "proposed");
    await waiting.getByRole("button", { name: "Promote" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("button[type=submit]").click();
    await dialog.locator("[name='confirm word']").fill("no");
    await expect(dialog.locator(".word")).toHaveText("no-direct-sql");
    await dialog.locator("[name='confirm word']").press("Enter");
    await expect(dialog.locator(".problem")).toBeVisible();
    expect(project.read(".twining/policy.yml")).toContain("status: proposed");
  });
});

test("discard a proposed guard", async ({ page, project }) => {
  setGuards(project);
  const waiting = await item(page, await project.ui(), "proposed");
  await waiting.getByRole("button", { name: "Discard" }).click();
  await settle(page, "Discard", { reason: "the builder cannot do migrations" });
  await expect(waiting).toBeHidden();
  expect(project.read(".twining/policy.yml")).not.toContain("no-direct-sql");
  await page.goto(new URL("/?settled=1", page.url()).href);
  await expect(page.locator(".item .settled").first()).toContainText(
    /discarded by kim.*the builder cannot do migrations/,
  );
});

test("lift a guard for a while, and end that", async ({ page, project }) => {
  setGuards(project);
  await project.call("ada", "post", { entry_type: "status", summary: "at work" });
  await open(page, await project.ui(), "/g/no-force-push");
  await page.getByRole("button", { name: "Lift for a while…" }).click();
  await settle(page, "Lift", { minutes: "5", reason: "hotfix" });
  await expect(page.locator(".callout")).toContainText("hotfix");
  expect((await bash(project, "git push -f")).out).not.toContain('"deny"');
  await page.locator(".result-inner").getByRole("button", { name: "Guard again now…" }).click();
  await settle(page, "Guard again now");
  await expect(page.locator(".callout")).toHaveCount(0);
  expect((await bash(project, "git push -f")).out).toContain('"deny"');
});

test("say of a block that it was wrong", async ({ page, project }) => {
  setGuards(project);
  await bash(project, "git push -f fork tmp");
  await open(page, await project.ui(), "/g/no-force-push");
  await page.getByRole("button", { name: "It was wrong…" }).click();
  await settle(page, "It was wrong", { why: "a fork of my own" });
  await expect(page.locator(".panel-head", { hasText: "Fired" })).toContainText("1 wrong");
});

test("release a claim", async ({ page, project }) => {
  await project.call("cy", "claim", { paths: ["docs"], reason: "guide" });
  await open(page, await project.ui(), "/a/cy");
  await page.getByRole("button", { name: "Release…" }).click();
  await settle(page, "Release");
  await expect(page.getByRole("button", { name: "Release…" })).toHaveCount(0);
  const { claims } = await project.call("ada", "claim", { action: "list" });
  expect(claims).toEqual([]);
});

test("take over a handoff", async ({ page, project }) => {
  await project.call("cy", "handoff", {
    summary: "Finish the guide",
    results: [{ description: "half", status: "partial" }],
  });
  const handoff = await item(page, await project.ui(), "handoff");
  await handoff.getByRole("button", { name: "Take it over" }).click();
  await settle(page, "Take it over");
  await expect(handoff).toBeHidden();
});

test("decide, reconsider, make it binding again", async ({ page, project }) => {
  await open(page, await project.ui(), "/decisions");
  await page.getByRole("button", { name: "New decision…" }).click();
  await settle(page, "Decide", {
    summary: "Money is integers of cents",
    rationale: "Floats lose cents.",
    scope: "src/money/",
  });
  await page.locator(".option").first().dblclick();
  await expect(page.locator("h1")).toHaveText("Money is integers of cents");
  await page.getByRole("button", { name: "Reconsider…" }).click();
  await settle(page, "Reconsider", { new_context: "a currency without cents" });
  await expect(page.locator(".page-title .badge")).toContainText("contested");
  await page.locator(".result-inner").getByRole("button", { name: "Make it binding…" }).click();
  await settle(page, "Make it binding");
  await expect(page.locator(".page-title .badge")).toHaveText("active");
});

test("the first act asks for a name, once", async ({ page, project }) => {
  const { id } = await project.call("bob", "post", {
    entry_type: "question",
    summary: "Which port?",
  });
  await open(page, await project.ui(), `/e/${id}`, { name: "" });
  await page.getByRole("button", { name: "Answer…" }).click();
  await settle(page, "Answer", { summary: "8443", "person name": "kim" });
  await page.getByRole("button", { name: "Dismiss…" }).click();
  await expect(page.locator("[name='person name']")).toHaveCount(0);
});

test("two people at once: the second is told who settled it, and how", async ({
  page,
  project,
}) => {
  const { id } = await project.call("bob", "post", {
    entry_type: "question",
    summary: "Which port?",
  });
  makeOlder(project, id, 25);
  const question = await item(page, await project.ui(), "question");
  await question.getByRole("button", { name: "Dismiss" }).click();
  await project.call("ada", "post", { entry_type: "answer", summary: "8443", relates_to: [id] });
  await expect(page.locator("dialog .callout")).toContainText("Settled meanwhile");
});
