// The real Codex, headless, against a model that says what the test says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { dialogue } from "./lib/dialogue.mjs";
import { responsesApi, told } from "./lib/loopback.mjs";
import { clients, onStage } from "./lib/stage.mjs";

const say = (text) => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
const patch = (input) => ({ type: "custom_tool_call", call_id: "call_patch", name: "apply_patch", input });
/** Codex' own way: a script that calls the tools. */
const script = (input) => ({ type: "custom_tool_call", call_id: `call_script_${input.length}`, name: "exec", input });
const call = (namespace, name, fields) => ({ type: "function_call", call_id: `call_${name}`, namespace, name, arguments: JSON.stringify(fields) });

const CLAIMED = '{"features":[{"id":"F1","description":"log out","tested":true}]}';
const CLAIMS = `*** Begin Patch
*** Update File: feature-list.json
@@
-{"features":[{"id":"F1","description":"log out","tested":false}]}
+${CLAIMED}
*** End Patch
`;
const ADDS = "*** Begin Patch\n*** Add File: notes.txt\n+allowed\n*** End Patch\n";

function hooks() {
  const hook = (event) => ({ hooks: [{ type: "command", command: `twining hook --agent codex ${event}`, timeout: 10 }] });
  const events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop"];
  return { hooks: Object.fromEntries(events.map((event) => [event, [hook(event)]])) };
}

const quoted = (text) => JSON.stringify(text);

async function session(stage, play, args = ["--dangerously-bypass-hook-trust"]) {
  const api = await responsesApi(play);
  const provider = `{name="loopback",base_url=${quoted(`${api.url}/v1`)},wire_api="responses",env_key="NO_KEY"}`;
  const server = `{command="twining",args=["mcp","--project",${quoted(stage.project)}],default_tools_approval_mode="approve"}`;
  const words = ["exec", "--json", "--sandbox", "danger-full-access", ...args];
  for (const setting of ["model_provider=loopback", `model_providers.loopback=${provider}`, `mcp_servers.twining=${server}`]) words.push("-c", setting);
  try {
    const ended = await stage.run(clients.codex, [...words, "begin"], { env: { NO_KEY: "none" } });
    assert.equal(ended.code, 0, `${ended.stdout}\n${ended.stderr}`);
    return { heard: told(api), api };
  } finally {
    await api.close();
  }
}

test("a patch that claims a test nobody ran is not applied", () =>
  onStage(async (stage) => {
    stage.write(".codex/hooks.json", hooks());
    const before = stage.read("feature-list.json");
    const { heard } = await session(stage, ({ turn }) => [patch(CLAIMS), patch(ADDS)][turn] ?? say("done"));
    assert.equal(stage.read("feature-list.json"), before);
    assert.match(heard, /\[tested-needs-evidence\]/, "the model is told what is missing");
    assert.equal(stage.read("notes.txt"), "allowed\n", "other patches go through");
    assert.match(heard, /bcrypt cost 12 blocks the event loop/, "the brief reaches the model");
  }));

test("a script that calls the tools is held to the same", () =>
  onStage(async (stage) => {
    stage.write(".codex/hooks.json", hooks());
    const before = stage.read("feature-list.json");
    const { heard } = await session(
      stage,
      ({ turn }) =>
        [
          script(`await tools.apply_patch(${quoted(CLAIMS)});`),
          script(`text(await tools.exec_command({ cmd: ${quoted(`cat > feature-list.json <<'END'\n${CLAIMED}\nEND`)} }));`),
          script(`text(await tools.exec_command({ cmd: "echo allowed > notes.txt" }));`),
        ][turn] ?? say("done"),
    );
    assert.equal(stage.read("feature-list.json"), before);
    assert.equal(heard.match(/blocked by PreToolUse hook/g)?.length > 1, true, "both ways are refused");
    assert.equal(stage.read("notes.txt"), "allowed\n");
  }));

test("Codex calls our tools", () =>
  onStage(async (stage) => {
    const finding = { entry_type: "finding", summary: "sessions are kept in a cookie", scope: "src/auth/" };
    await session(stage, ({ turn }) => (turn === 0 ? call("mcp__twining", "twining_post", finding) : say("done")));
    assert.match(await stage.ran("twining", ["recent"]), /kept in a cookie/);
  }));

test("a subagent's patch is not applied either", () =>
  onStage(async (stage) => {
    stage.write(".codex/hooks.json", hooks());
    const before = stage.read("feature-list.json");
    const errand = "Mark the feature as tested";
    let asked = false;
    const { heard } = await session(stage, ({ turn, input }) => {
      const main = input.some((item) => item.role === "user" && item.content?.some((part) => part.text === "begin"));
      if (!main) {
        asked = true;
        return [patch(CLAIMS)][turn] ?? say("done");
      }
      const spawn = call("collaboration", "spawn_agent", { task_name: "marker", message: errand, fork_turns: "none" });
      return [spawn, call("collaboration", "wait_agent", { timeout_ms: 20000 })][turn] ?? say("done");
    });
    assert.ok(asked, "the subagent ran");
    assert.equal(stage.read("feature-list.json"), before);
    assert.match(heard, /\[tested-needs-evidence\]/);
  }));

test("tests that Codex ran are evidence", () =>
  onStage(async (stage) => {
    stage.write(".codex/hooks.json", hooks());
    stage.writeTests();
    const list = (tested) => `{"features":[{"id":"F1","status":"completed","tested":${tested},"files":["a.test.mjs"]}]}`;
    stage.write("feature-list.json", `${list(false)}\n`);
    const claims = patch(`*** Begin Patch\n*** Update File: feature-list.json\n@@\n-${list(false)}\n+${list(true)}\n*** End Patch\n`);
    const runs = (cmd) => script(`text(await tools.exec_command({ cmd: ${quoted(cmd)} }));`);
    const { heard } = await session(stage, ({ turn }) => [claims, runs("node --test a.test.mjs"), claims][turn] ?? say("done"));
    assert.equal(heard.match(/\[tested-needs-evidence\]/) !== null, true, heard);
    assert.equal(stage.read("feature-list.json"), `${list(true)}\n`, heard);
  }));

test("what slipped past is held at the end once, and then let go", () =>
  onStage(async (stage) => {
    stage.write(".codex/hooks.json", hooks());
    stage.write("flip.sh", "sed -i 's/false/true/' feature-list.json\n");
    await stage.commit();
    const { api } = await session(
      stage,
      ({ turn }) => [script(`text(await tools.exec_command({ cmd: "sh flip.sh" }));`), say("all done")][turn] ?? say("still done"),
    );
    assert.match(stage.read("feature-list.json"), /true/, "the script did slip past");
    assert.equal(api.heard.filter((request) => request.method === "POST").length, 3, "the call, the end that was held, the end");
    assert.match(await stage.ran("twining", ["recent", "--type", "warning", "--json"]), /marks `F1` as tested/, "a person can see it");
  }));

/** What Codex says of the hooks it found. */
async function listed(stage) {
  const server = dialogue(clients.codex, ["app-server"], { cwd: stage.project, env: stage.env });
  try {
    await server.ask("initialize", { clientInfo: { name: "twining-proof", title: "proof", version: "1" } });
    server.tell("initialized");
    return (await server.ask("hooks/list", { cwds: [stage.project] })).data[0].hooks;
  } finally {
    await server.close();
  }
}

test("Codex runs our hooks once a person trusts them, and not before", () =>
  onStage(async (stage) => {
    stage.write(".codex/hooks.json", hooks());
    const before = stage.read("feature-list.json");
    const trusts = (hooks) =>
      [`[projects.${quoted(stage.project)}]`, `trust_level = "trusted"`]
        .concat(hooks.flatMap((hook) => [`[hooks.state.${quoted(hook.key)}]`, `trusted_hash = ${quoted(hook.currentHash)}`]))
        .join("\n");
    const claims = ({ turn }) => [patch(CLAIMS)][turn] ?? say("done");

    stage.writeAtHome(".codex/config.toml", trusts([]));
    const found = await listed(stage);
    assert.deepEqual(new Set(found.map((hook) => hook.trustStatus)), new Set(["untrusted"]));
    await session(stage, claims, []);
    assert.match(stage.read("feature-list.json"), /true/, "an untrusted hook holds nothing");

    stage.write("feature-list.json", before);
    stage.writeAtHome(".codex/config.toml", trusts(found));
    assert.deepEqual(new Set((await listed(stage)).map((hook) => hook.trustStatus)), new Set(["trusted"]));
    await session(stage, claims, []);
    assert.equal(stage.read("feature-list.json"), before);
  }));
