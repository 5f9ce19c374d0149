// The real Claude Code, headless, against a model that says what the test says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { messagesApi, say, told, use } from "./lib/loopback.mjs";
import { clients, lines, onStage, repository } from "./lib/stage.mjs";

const TESTED = JSON.stringify({ features: [{ id: "F1", description: "log out", tested: true }] });

/** The hooks as a person writes them into `.claude/settings.json`. */
function settings() {
  const hook = (event) => ({ type: "command", command: "twining", args: ["hook", "--agent", "claude", event], timeout: 10 });
  const matcher = "Write|Edit|MultiEdit|NotebookEdit|Bash|Read|mcp__.*";
  return {
    hooks: {
      SessionStart: [{ hooks: [hook("SessionStart")] }],
      PreToolUse: [{ matcher, hooks: [hook("PreToolUse")] }],
      PostToolUse: [{ matcher, hooks: [hook("PostToolUse")] }],
      SubagentStop: [{ hooks: [hook("SubagentStop")] }],
      Stop: [{ hooks: [hook("Stop")] }],
    },
  };
}

/** Runs one prompt; answers with what the client printed and what the model heard. */
async function session(stage, play, args = []) {
  const api = await messagesApi(play);
  const env = { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "none" };
  const words = ["-p", "begin", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", ...args];
  try {
    const ended = await stage.run(clients.claude, words, { env });
    const printed = lines(ended.stdout);
    const result = printed.find((line) => line.type === "result");
    assert.ok(result, `no result\n${ended.stdout}\n${ended.stderr}`);
    return { printed, result, denied: (result.permission_denials ?? []).map((denial) => denial.tool_name), heard: told(api), api };
  } finally {
    await api.close();
  }
}

const writesTested = (stage) => use("Write", { file_path: stage.path("feature-list.json"), content: TESTED });

test("a feature list that claims a test nobody ran is not written", () =>
  onStage(async (stage) => {
    stage.write(".claude/settings.json", settings());
    const before = stage.read("feature-list.json");
    const { denied, heard } = await session(stage, ({ turn }) => [
      [use("Read", { file_path: stage.path("feature-list.json") })],
      [writesTested(stage)],
      [use("Write", { file_path: stage.path("notes.txt"), content: "allowed" })],
    ][turn]);
    assert.equal(stage.read("feature-list.json"), before);
    assert.deepEqual(denied, ["Write"]);
    assert.match(heard, /\[tested-needs-evidence\]/, "the model is told what is missing");
    assert.equal(stage.read("notes.txt"), "allowed", "other writes go through");
  }));

test("without the hooks the same session does write it", () =>
  onStage(async (stage) => {
    const { denied } = await session(stage, ({ turn }) => [use("Read", { file_path: stage.path("feature-list.json") }), writesTested(stage)][turn]);
    assert.equal(stage.read("feature-list.json"), TESTED);
    assert.deepEqual(denied, []);
  }));

test("a subagent's feature list is not written either", () =>
  onStage(async (stage) => {
    stage.write(".claude/settings.json", settings());
    const before = stage.read("feature-list.json");
    const errand = "Mark the feature as tested";
    let asked = false;
    const { heard } = await session(stage, ({ opening, turn, tools }) => {
      if (opening.includes(errand)) {
        asked = true;
        return [[use("Read", { file_path: stage.path("feature-list.json") })], [writesTested(stage)]][turn];
      }
      const agent = tools.find((name) => name === "Agent" || name === "Task");
      return turn === 0 ? use(agent, { description: "mark it", prompt: errand, subagent_type: "general-purpose" }) : undefined;
    });
    assert.ok(asked, "the subagent ran");
    assert.equal(stage.read("feature-list.json"), before);
    assert.match(heard, /\[tested-needs-evidence\]/);
  }));

test("tests that Claude Code ran are evidence", () =>
  onStage(async (stage) => {
    stage.write(".claude/settings.json", settings());
    stage.writeTests();
    const list = (tested) => JSON.stringify({ features: [{ id: "F1", status: "completed", tested, files: ["a.test.mjs"] }] });
    stage.write("feature-list.json", list(false));
    const claims = use("Write", { file_path: stage.path("feature-list.json"), content: list(true) });
    const { denied, heard } = await session(
      stage,
      ({ turn }) => [
        use("Read", { file_path: stage.path("feature-list.json") }),
        claims,
        use("Bash", { command: "node --test a.test.mjs", description: "test" }),
        claims,
      ][turn],
      ["--allowedTools", "Bash"],
    );
    assert.deepEqual(denied, ["Write"], heard);
    assert.equal(stage.read("feature-list.json"), list(true));
  }));

test("what slipped past is held at the end once, and then let go", () =>
  onStage(async (stage) => {
    stage.write(".claude/settings.json", settings());
    // A script that was there before: no hook sees what it does.
    stage.write("flip.sh", "sed -i 's/false/true/' feature-list.json\n");
    await stage.commit();
    const { heard, api, printed } = await session(
      stage,
      ({ turn }) => [use("Bash", { command: "sh flip.sh", description: "flip" }), say("all done"), say("still done")][turn],
      ["--allowedTools", "Bash"],
    );
    assert.match(stage.read("feature-list.json"), /true/, "the script did slip past");
    assert.match(heard, /Stop hook feedback/, "the model is told to go on");
    const turns = api.heard.filter((request) => (request.body?.tools?.length ?? 0) > 1).length;
    assert.equal(turns, 3, "held once: the call, the end that was held, the end");
    assert.equal(printed.at(-1).subtype, "success");
    assert.match(await stage.ran("twining", ["recent", "--type", "warning", "--json"]), /marks `F1` as tested/, "a person can see it");
  }));

test("the plugin brings the brief, the tools and the guards", () =>
  onStage(async (stage) => {
    const before = stage.read("feature-list.json");
    const tool = "mcp__plugin_twining_twining__twining_post";
    const { heard, denied } = await session(
      stage,
      ({ turn }) => [
        use("ToolSearch", { query: `select:${tool}` }),
        use(tool, { entry_type: "finding", summary: "sessions are kept in a cookie", scope: "src/auth/" }),
        use("Read", { file_path: stage.path("feature-list.json") }),
        writesTested(stage),
      ][turn],
      ["--plugin-dir", `${repository}/plugin`, "--allowedTools", "mcp__plugin_twining_twining"],
    );
    assert.match(heard, /bcrypt cost 12 blocks the event loop/, "the brief reaches the model");
    assert.equal(stage.read("feature-list.json"), before);
    assert.deepEqual(denied, ["Write"]);
    assert.match(await stage.ran("twining", ["recent"]), /kept in a cookie/, "the tool wrote to the memory");
  }));

test("a colleague without the program reads and writes, plugin or not", () =>
  onStage(async (stage) => {
    stage.replaceTwining(null);
    stage.write(".claude/settings.json", settings());
    const { denied, heard } = await session(
      stage,
      ({ turn }) => [
        use("Read", { file_path: stage.path("feature-list.json") }),
        use("Write", { file_path: stage.path("notes.txt"), content: "written" }),
      ][turn],
      ["--plugin-dir", `${repository}/plugin`],
    );
    assert.equal(stage.read("notes.txt"), "written", heard);
    assert.deepEqual(denied, []);
  }));

test("claude mcp list says connected", () =>
  onStage(async (stage) => {
    await stage.ran(clients.claude, ["mcp", "add", "twining", "--", "twining", "mcp"]);
    assert.match(await stage.ran(clients.claude, ["mcp", "list"]), /twining: .*Connected/);
  }));

test("the plugin and its marketplace are valid, and install", () =>
  onStage(async (stage) => {
    await stage.ran(clients.claude, ["plugin", "validate", "--strict", "--profile", "directory", `${repository}/plugin`]);
    await stage.ran(clients.claude, ["plugin", "validate", "--strict", repository]);
    await stage.ran(clients.claude, ["plugin", "marketplace", "add", repository]);
    await stage.ran(clients.claude, ["plugin", "install", "twining@twining"]);
    assert.match(await stage.ran(clients.claude, ["plugin", "list"]), /twining@twining[\s\S]*enabled/);
    assert.match(await stage.ran(clients.claude, ["mcp", "list"]), /plugin:twining:twining.*Connected/);
  }));
