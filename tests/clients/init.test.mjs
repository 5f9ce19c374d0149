// Nothing but `twining init`, and each client holds to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { geminiApi, messagesApi, responsesApi, say, told, use } from "./lib/loopback.mjs";
import { clients, onStage } from "./lib/stage.mjs";

const TESTED = JSON.stringify({ features: [{ id: "F1", description: "log out", tested: true }] });

/** Wires a client up, runs it against a model, and sees that the list was not written while another file was. */
function holds(agent, serve, play, run) {
  return onStage(async (stage) => {
    await stage.ran("twining", ["init", "--agent", agent]);
    const before = stage.read("feature-list.json");
    const api = await serve(play(stage));
    try {
      const ended = await run(stage, api);
      const seen = `${ended.stdout.slice(-2000)}\n${ended.stderr.slice(-2000)}`;
      assert.equal(stage.read("notes.txt")?.trim(), "allowed", `other writes go through\n${seen}`);
      assert.equal(stage.read("feature-list.json"), before, seen);
      assert.match(told(api), /tested-needs-evidence/, `the model is told why\n${seen}`);
    } finally {
      await api.close();
    }
  });
}

test("init: Claude Code", () =>
  holds(
    "claude",
    messagesApi,
    (stage) => ({ turn }) =>
      [
        use("Read", { file_path: stage.path("feature-list.json") }),
        use("Write", { file_path: stage.path("feature-list.json"), content: TESTED }),
        use("Write", { file_path: stage.path("notes.txt"), content: "allowed" }),
      ][turn],
    (stage, api) =>
      stage.run(clients.claude, ["-p", "begin", "--permission-mode", "acceptEdits"], {
        env: { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "none" },
      }),
  ));

test("init: Codex", () => {
  const patch = (input) => ({ type: "custom_tool_call", call_id: "call_patch", name: "apply_patch", input });
  const done = { type: "message", role: "assistant", content: [{ type: "output_text", text: "done" }] };
  const change = `-{"features":[{"id":"F1","description":"log out","tested":false}]}\n+${TESTED}`;
  return holds(
    "codex",
    responsesApi,
    () => ({ turn }) =>
      [
        patch(`*** Begin Patch\n*** Update File: feature-list.json\n@@\n${change}\n*** End Patch\n`),
        patch("*** Begin Patch\n*** Add File: notes.txt\n+allowed\n*** End Patch\n"),
      ][turn] ?? done,
    (stage, api) => {
      const provider = `{name="loopback",base_url=${JSON.stringify(`${api.url}/v1`)},wire_api="responses",env_key="NO_KEY"}`;
      const settings = ["-c", "model_provider=loopback", "-c", `model_providers.loopback=${provider}`];
      const trust = ["--sandbox", "danger-full-access", "--dangerously-bypass-hook-trust"];
      return stage.run(clients.codex, ["exec", ...trust, ...settings, "begin"], { env: { NO_KEY: "none" } });
    },
  );
});

test("init: Gemini CLI", () =>
  holds(
    "gemini",
    geminiApi,
    (stage) => ({ turn }) =>
      [
        use("write_file", { file_path: stage.path("feature-list.json"), content: TESTED }),
        use("write_file", { file_path: stage.path("notes.txt"), content: "allowed" }),
      ][turn],
    (stage, api) => {
      stage.writeAtHome(".gemini/settings.json", { security: { auth: { selectedType: "gemini-api-key" } } });
      return stage.run(clients.gemini, ["-p", "begin", "--approval-mode", "yolo", "-m", "gemini-2.5-flash"], {
        env: { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: api.url, GEMINI_CLI_TRUST_WORKSPACE: "true" },
      });
    },
  ));

test("init: OpenCode", () =>
  holds(
    "opencode",
    messagesApi,
    (stage) => ({ turn }) =>
      [
        use("read", { filePath: stage.path("feature-list.json") }),
        use("write", { filePath: stage.path("feature-list.json"), content: TESTED }),
        use("write", { filePath: stage.path("notes.txt"), content: "allowed" }),
      ][turn],
    (stage, api) => {
      const options = { baseURL: `${api.url}/v1`, apiKey: "none" };
      const loopback = { npm: "@ai-sdk/anthropic", options, models: { scripted: {} } };
      const model = "loopback/scripted";
      stage.writeAtHome(".config/opencode/opencode.json", { provider: { loopback }, model, small_model: model, autoupdate: false });
      return stage.run(clients.opencode, ["run", "begin"], {
        env: {
          OPENCODE_DISABLE_MODELS_FETCH: "1",
          OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
          OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
          // It would install types for plugins, and wait for them.
          npm_config_registry: "http://127.0.0.1:9",
          npm_config_fetch_retries: "0",
        },
      });
    },
  ));

test("init: the plugin of OpenCode stops what the hooks of others stop", () =>
  onStage(async (stage) => {
    await stage.ran("twining", ["init", "--agent", "opencode"]);
    stage.write(
      "try.mjs",
      `import { Twining } from "./.opencode/plugin/twining.js";
const hooks = await Twining({ directory: process.cwd() });
const call = (tool, args) =>
  hooks["tool.execute.before"]({ tool, sessionID: "s" }, { args }).then(() => "let through", (why) => why.message);
console.log(await call("write", { filePath: ".twining/blackboard.jsonl", content: "x" }));
console.log(await call("bash", { command: "echo x >> .twining/blackboard.jsonl" }));
console.log(await call("write", { filePath: "a.txt", content: "x" }));
`,
    );
    const { stdout, stderr } = await stage.run(process.execPath, ["try.mjs"]);
    const stopped = stdout.trim().split("\n").map((line) => line.includes("[protect-twining-state]"));
    assert.deepEqual(stopped, [true, true, false], stdout + stderr);
  }));
