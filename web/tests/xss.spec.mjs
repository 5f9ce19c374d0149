// Stored text is never markup: the corpus through every text field of every verb that stores,
// looked at on every page.

import { CORPUS, LONG } from "./corpus.mjs";
import { expect, settled, test as base, visit } from "./fixtures.mjs";
import { Project } from "./project.mjs";
import { contradict, setGuards } from "./story.mjs";

/** For every verb that stores: inputs with this text in every field that takes one. */
const STORING = {
  post: (s) =>
    ["need", "question", "warning", "finding", "answer"].map((entry_type) => ({
      entry_type,
      summary: s,
      detail: s,
      tags: [s],
      scope: s,
      force: true,
    })),
  decide: (s) => [
    {
      summary: s,
      rationale: s,
      context: s,
      domain: s,
      scope: s,
      constraints: [s],
      rules_out: [s],
      alternatives: [{ option: s, pros: [s], cons: [s], reason_rejected: s }],
      affected_files: [s],
      affected_symbols: [s],
    },
  ],
  reconsider: (s, known) => [{ decision_id: known.decision, new_context: s }],
  override: (s, known) => [
    { decision_id: known.decision, reason: s, new_decision: s, overridden_by: s },
  ],
  promote: (s, known) => [{ decision_ids: [known.decision], promoted_by: s, reason: s }],
  link_commit: (s, known) => [
    {
      decision_id: known.decision,
      commit_hash: "0123456789abcdef0123456789abcdef01234567",
      summary: s,
    },
  ],
  confirm: (s, known) => [{ ids: [known.decision], reason: s }],
  reanchor: (s, known) => [{ id: known.decision, at: s, to: s }],
  dismiss: (s, known) => [{ ids: [known.entry], reason: s }],
  features: (s) => [
    {
      action: "add",
      id: s,
      description: s,
      files: [s],
      tests: [s],
      acceptance_criteria: [s],
      reason: s,
    },
  ],
  report: (s, known) => [
    { feature: known.feature, role: "coder", outcome: "started", summary: s, files: [s] },
    { feature: known.feature, role: "coder", outcome: "blocked", summary: s },
    { feature: known.feature, role: "person", outcome: "reopened", summary: s },
  ],
  claim: (s) => [{ paths: [s], reason: s, ttl: "2h" }],
  delegate: (s) => [{ summary: s, required_capabilities: [s], scope: s, tags: [s] }],
  handoff: (s) => [
    {
      summary: s,
      scope: s,
      target_agent: s,
      results: [{ description: s, status: "partial", artifacts: [s], notes: s }],
    },
  ],
  acknowledge: (s, known) => [{ handoff_id: known.handoff, agent_id: s }],
  register: (s) => [{ agent_id: s, capabilities: [s], role: s, description: s }],
  add_entity: (s) => [{ name: s, type: "module", properties: { [s]: s } }],
  add_relation: (s, known) => [
    { source: known.entity, target: s, type: "depends_on", properties: { [s]: s } },
  ],
  prune_graph: () => [{ dry_run: true }],
  store_trace: (s, known) => [
    {
      type: "violation",
      what_happened: s,
      what_was_correct: s,
      why: s,
      action: s,
      guard: known.guard,
      blocked: true,
      feature: s,
      task: s,
    },
  ],
  create_guard: (s) => [{ pattern: s, say: s }],
  record_turn: (s) => [
    {
      task: "TASK-F1-1",
      feature: "F1",
      turn: 1,
      player_decision: s,
      coach_decision: "revise",
      progress_summary: s,
      blockers_found: [s],
      player_summary: s,
      coach_feedback: s,
      files_modified: [s],
      lessons_from_turn: [s],
      what_to_try_next: s,
      acceptance_criteria_status: { [s]: "pending" },
    },
  ],
  knowledge_update: (s, known) => [
    {
      operations: [
        { op: "add_node", id: `n${known.n}`, type: "component", description: s, tag: s, note: s },
      ],
    },
  ],
  guard_bypass: (s, known) => [{ guard: known.guard, minutes: 1, reason: s }],
  guard_bypass_end: (s, known) => [{ guard: known.guard }],
  guard_discard: (s) => [{ guard: s, reason: s }],
  guard_promote: (s) => [{ guard: s }],
  archive: () => [],
  verify: (s) => [{ scope: s }],
};

/** Calls a verb as the page does, with the word that it asks for. */
async function call(ui, verb, input, user) {
  const send = async (confirm) =>
    (
      await fetch(`${ui.origin}/api/${verb}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${await ui.key()}`,
          "twining-user": encodeURIComponent(user),
          ...(confirm !== undefined && { "twining-confirm": encodeURIComponent(confirm) }),
        },
        body: JSON.stringify(input),
      })
    ).json();
  const answer = await send();
  return answer.code === "CONFIRM" ? send(answer.confirm) : answer;
}

/** Where all of it is refused together, each field alone, beside harmless words. */
function* alone(input, s) {
  const plain = (value) =>
    typeof value === "string"
      ? value.replaceAll(s, "harmless")
      : Array.isArray(value)
        ? value.map(plain)
        : typeof value === "object"
          ? Object.fromEntries(
              Object.entries(value).map(([name, one]) => [
                name.replaceAll(s, "harmless"),
                plain(one),
              ]),
            )
          : value;
  for (const name of Object.keys(input)) {
    if (JSON.stringify(input[name]).includes(JSON.stringify(s).slice(1, -1)))
      yield { ...plain(input), [name]: input[name] };
  }
}

const test = base.extend({
  hostile: [
    async ({}, use) => {
      const project = await new Project("shop").init();
      await contradict(project);
      const guards = setGuards(project);
      const ui = await project.ui();
      const stored = { entries: new Set(), decisions: new Set() };
      const { verbs } = await (
        await fetch(`${ui.origin}/api`, { headers: { authorization: `Bearer ${await ui.key()}` } })
      ).json();
      const writing = verbs.filter((verb) => verb.effect !== "reads").map((verb) => verb.name);
      let [n, kept] = [0, 0];
      for (const s of [...CORPUS, LONG]) {
        n++;
        const made = async (verb, input) => (await call(ui, verb, input, "kim")).id;
        const known = {
          n,
          guard: guards.guard,
          entry: await made("post", {
            entry_type: "question",
            summary: `question ${n}`,
            force: true,
          }),
          decision: await made("decide", {
            summary: `choice ${n}`,
            rationale: "r",
            scope: `place${n}/`,
          }),
          handoff: await made("handoff", {
            summary: `handoff ${n}`,
            results: [{ description: "d", status: "partial" }],
          }),
          entity: `entity ${n}`,
          feature: `F${n}`,
        };
        await made("add_entity", { name: known.entity, type: "module" });
        await made("features", { action: "add", id: known.feature, description: "d" });
        stored.decisions.add(known.decision);
        const user =
          s.length < 100 &&
          (await call(ui, "post", { entry_type: "status", summary: `by ${n}` }, s)).id
            ? s
            : "kim";
        for (const verb of writing) {
          for (const input of STORING[verb]?.(s, known) ?? []) {
            let answers = [await call(ui, verb, input, user)];
            if (answers[0].error)
              answers = await Promise.all(
                [...alone(input, s)].map((one) => call(ui, verb, one, "kim")),
              );
            for (const answer of answers) {
              if (answer.error) continue;
              kept++;
              if (verb === "post" && answer.id) stored.entries.add(answer.id);
              if (verb === "decide" && answer.id) stored.decisions.add(answer.id);
            }
          }
        }
      }
      await use({ project, ui, stored, kept, writing });
      await project.remove();
    },
    { scope: "worker", timeout: 600_000 },
  ],
});

test.describe.configure({ timeout: 600_000, mode: "serial" });
// Records that are asked for by a name that nothing has.
test.use({ refusals: ["status of 404", "status of 400"] });

/** Elements and attributes that only data could have made. */
async function madeOfData(page) {
  return page.evaluate(() => {
    const ours = "script[src^='/assets/']";
    const foreign = `script:not(${ours}), style, img, iframe, object, embed, form:not(.preview-form), base, video, audio, marquee, math, template, foreignObject, animate, link[href*='evil'], meta[http-equiv], dialog`;
    const found = [...document.querySelectorAll(foreign)].map((element) =>
      element.outerHTML.slice(0, 120),
    );
    for (const element of document.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on") || name === "srcdoc" || name === "autofocus")
          found.push(`${element.tagName} ${name}`);
        if (
          (name === "href" || name === "src" || name === "xlink:href") &&
          !/^(\/(?!\/)|#)/.test(value)
        )
          found.push(`${element.tagName} ${name}=${value.slice(0, 80)}`);
        if (name === "style" && /url\(|expression|fixed/.test(value))
          found.push(`${element.tagName} style=${value.slice(0, 80)}`);
      }
    }
    if (window.hit !== undefined || Object.prototype.hit !== undefined) found.push("it ran");
    return found;
  });
}

async function look(page, hostile, paths) {
  await page.addInitScript(
    (key) => localStorage.setItem("twining.key", key),
    await hostile.ui.key(),
  );
  await page.goto(hostile.ui.origin);
  await settled(page);
  for (const path of paths) {
    await visit(page, path);
    await expect.poll(() => madeOfData(page), { message: path }).toEqual([]);
  }
}

test("the corpus has what it must, and every verb that stores is tried with it", async ({
  hostile,
}) => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(60);
  expect(hostile.writing.filter((verb) => !STORING[verb])).toEqual([]);
  expect(hostile.kept).toBeGreaterThan(CORPUS.length * 12);
});

test("every page and list", async ({ page, hostile }) => {
  const words = encodeURIComponent(CORPUS[0]);
  await look(page, hostile, [
    "/",
    "/?settled=1",
    "/stream",
    `/stream?q=${words}&scope=${words}&agent=${words}`,
    "/stream?status=open",
    "/decisions",
    `/decisions?q=${words}`,
    "/decisions?contested=1",
    "/features",
    "/f/F1",
    "/guards",
    "/g/no-force-push",
    "/map",
    "/map?as=table",
    "/map?level=folders",
    "/map?all=1",
    `/map?around=${words}`,
    `/preview?task=${words}&scope=${words}`,
    "/preview?task=script&scope=project&budget=20000",
    "/health",
    "/changes",
    `/changes?base=${words}`,
    `/nothing/${words}`,
  ]);
});

test("every entry", async ({ page, hostile }) => {
  await look(
    page,
    hostile,
    [...hostile.stored.entries].slice(0, 400).map((id) => `/e/${id}`),
  );
});

test("every decision", async ({ page, hostile }) => {
  await look(
    page,
    hostile,
    [...hostile.stored.decisions].map((id) => `/d/${id}`),
  );
});

test("agents, entities, features, guards and traces by hostile names", async ({
  page,
  hostile,
}) => {
  const names = CORPUS.map((s) => encodeURIComponent(s)).filter(
    (name) => name !== "." && name !== "..",
  );
  await look(
    page,
    hostile,
    names.flatMap((name) => [`/a/${name}`, `/n/${name}`, `/f/${name}`, `/g/${name}`]),
  );
  const { traces } = await call(hostile.ui, "query_traces", { limit: 100 }, "kim");
  await look(
    page,
    hostile,
    traces.map(({ trace }) => `/t/${trace.id}`),
  );
});

test("dialogs, the palette and what was done", async ({ page, hostile }) => {
  await look(page, hostile, ["/"]);
  const items = await page.locator(".item").count();
  for (let i = 0; i < Math.min(items, 20); i++) {
    await page.locator(".item").nth(i).locator(".buttons button").first().click();
    await expect(page.locator("dialog h2")).toBeVisible();
    expect(
      (await madeOfData(page)).filter(
        (found) => !found.startsWith("<dialog") && !found.startsWith("<form"),
      ),
    ).toEqual([]);
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("script");
  await page.waitForTimeout(500);
  expect((await madeOfData(page)).filter((found) => !found.startsWith("<dialog"))).toEqual([]);
});

test("what is stored is shown as it was written", async ({ page, hostile }) => {
  await page.addInitScript(
    (key) => localStorage.setItem("twining.key", key),
    await hostile.ui.key(),
  );
  const { id } = await call(
    hostile.ui,
    "post",
    { entry_type: "finding", summary: CORPUS[0], detail: CORPUS[12], force: true },
    "kim",
  );
  await page.goto(`${hostile.ui.origin}/e/${id}`);
  await expect(page.locator("h1")).toHaveText(CORPUS[0]);
  await expect(page.locator(".prose")).toHaveText(CORPUS[12]);
});
