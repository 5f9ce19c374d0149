// One list of steps, taken by the real Claude Code or the real Codex after `twining init`.
//
// A step is made by `shell`, `read`, `write`, `call` or `report`; a function is called when its
// turn comes and gives the step, so that a person can do something in between.

import assert from "node:assert/strict";
import { messagesApi, responsesApi, say, told, use } from "./loopback.mjs";
import { clients } from "./stage.mjs";

export const shell = (command) => ({ kind: "shell", command });
export const read = (path) => ({ kind: "read", path });
export const write = (path, content) => ({ kind: "write", path, content });
/** A call of one of our tools. */
export const call = (tool, fields) => ({ kind: "call", tool, fields });
export const report = (fields) => call("twining_report", fields);

const stepAt = (steps, turn) => (typeof steps[turn] === "function" ? steps[turn]() : steps[turn]);

async function claude(stage, steps, { tools = ["twining_report"] } = {}) {
  const full = (tool) => `mcp__twining__${tool}`;
  const doing = (step) =>
    ({
      shell: () => use("Bash", { command: step.command, description: "run" }),
      read: () => use("Read", { file_path: stage.path(step.path) }),
      write: () => use("Write", { file_path: stage.path(step.path), content: step.content }),
      call: () => use(full(step.tool), step.fields),
    })[step.kind]();
  // It loads the tools of a server when the model asks for them.
  const api = await messagesApi(({ turn }) => {
    if (turn === 0) return use("ToolSearch", { query: `select:${tools.map(full).join(",")}` });
    const step = stepAt(steps, turn - 1);
    return step ? doing(step) : say("All done.");
  });
  const env = { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "none" };
  const words = ["-p", "begin", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__twining"];
  return finished(stage, api, clients.claude, words, env);
}

const quoted = (value) => JSON.stringify(value);
const stdioServer = (stage) => `mcp_servers.twining={command="twining",args=["mcp","--project",${quoted(stage.project)}],default_tools_approval_mode="approve"}`;

async function codex(stage, steps, { server = stdioServer(stage), env = {} } = {}) {
  const patch = ({ path, content }) => {
    const lines = content.trimEnd().split("\n").map((line) => `+${line}\n`);
    return `*** Begin Patch\n*** Add File: ${path}\n${lines.join("")}*** End Patch\n`;
  };
  const exec = (cmd) => ({ type: "custom_tool_call", name: "exec", input: `text(await tools.exec_command({ cmd: ${quoted(cmd)} }));` });
  const doing = (step) =>
    ({
      shell: () => exec(step.command),
      read: () => exec(`cat ${step.path}`),
      write: () => ({ type: "custom_tool_call", name: "apply_patch", input: patch(step) }),
      call: () => ({ type: "function_call", namespace: "mcp__twining", name: step.tool, arguments: quoted(step.fields) }),
    })[step.kind]();
  const done = { type: "message", role: "assistant", content: [{ type: "output_text", text: "All done." }] };
  const api = await responsesApi(({ turn }) => {
    const step = stepAt(steps, turn);
    return step ? { call_id: `call_${turn}`, ...doing(step) } : done;
  });
  const provider = `{name="loopback",base_url=${quoted(`${api.url}/v1`)},wire_api="responses",env_key="NO_KEY"}`;
  const settings = ["model_provider=loopback", `model_providers.loopback=${provider}`, server];
  const words = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "--dangerously-bypass-hook-trust", ...settings.flatMap((setting) => ["-c", setting])];
  return finished(stage, api, clients.codex, [...words, "begin"], { NO_KEY: "none", ...env });
}

async function finished(stage, api, program, words, env) {
  try {
    const ended = await stage.run(program, words, { env });
    assert.equal(ended.code, 0, `${ended.stdout}\n${ended.stderr}`);
    return told(api);
  } finally {
    await api.close();
  }
}

/**
 * The clients by the name that `init --agent` takes; each takes the steps and answers with what the model heard.
 * Claude Code is told which `tools` will be called; Codex which setting is of our `server`, and what `env` that wants.
 */
export const agents = { claude, codex };

/** Whether a recorded hook refused the call, or asked a person about it. */
export function refuses({ code, answer }) {
  const asks = ["deny", "ask"].includes(answer.hookSpecificOutput?.permissionDecision);
  return asks || answer.decision === "block" || code === 2;
}
