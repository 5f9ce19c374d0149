// twining:plugin (written by `twining init`; `twining uninstall` removes it)
// Asks `twining hook` before a tool runs and after it ran; a refusal stops the tool. Where there is no
// `twining`, or it does not end well, the tool runs: a colleague without it can work.
import { spawn } from "node:child_process"

const NAMES = { write: "Write", edit: "Edit", multiedit: "MultiEdit", patch: "apply_patch", bash: "Bash", read: "Read" }

function asked(tool, args) {
  const input = { ...args, file_path: args.filePath ?? args.file_path, old_string: args.oldString ?? args.old_string,
    new_string: args.newString ?? args.new_string, replace_all: args.replaceAll ?? args.replace_all }
  if (tool === "patch") input.input = args.patchText ?? args.input
  return { tool_name: NAMES[tool] ?? tool, tool_input: input }
}

function hook(event, directory, call) {
  return new Promise((resolve) => {
    const child = spawn("twining", ["hook", "--agent", "claude", event], { cwd: directory, stdio: ["pipe", "pipe", "pipe"], timeout: 5000 })
    let out = "", err = ""
    child.stdout.on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (err += data))
    child.on("error", (error) => resolve({ code: -1, out, err: String(error) }))
    child.on("close", (code) => resolve({ code, out, err }))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ hook_event_name: event, cwd: directory, ...call }))
  })
}

export const Twining = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { session_id: input.sessionID, ...asked(input.tool, output.args ?? {}) }
    const { code, out, err } = await hook("PreToolUse", directory, call)
    if (code === 2) throw new Error(err.trim() || "twining could not judge this call")
    if (code !== 0) return
    const said = out.trim() ? JSON.parse(out).hookSpecificOutput : undefined
    if (said?.permissionDecision === "deny" || said?.permissionDecision === "ask") throw new Error(said.permissionDecisionReason)
  },
  "tool.execute.after": async (input, output) => {
    await hook("PostToolUse", directory, { session_id: input.sessionID, ...asked(input.tool, input.args ?? output.args ?? {}) })
  },
})
