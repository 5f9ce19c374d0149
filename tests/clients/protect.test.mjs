// What `init --protect` hands to Claude Code and Codex, in their real sandboxes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { messagesApi, told, use } from "./lib/loopback.mjs";
import { clients, onStage } from "./lib/stage.mjs";

// Claude Code's sandbox is made of these two on Linux.
const sandboxed = ["bwrap", "socat"].every((program) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0);
const skip = sandboxed ? false : "bubblewrap and socat are not installed";

const AUTHOR = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@example.com", GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@example.com" };

/** A committed project, and a branch with fewer records. */
async function protectedProject(stage, agent, flag) {
  const git = (...words) => stage.ran("git", words, { env: AUTHOR });
  await stage.ran("twining", ["init", "--agent", agent, flag]);
  await git("add", "-A");
  await git("commit", "-qm", "start");
  await git("branch", "other");
  await stage.ran("twining", ["post", "finding", "only on the first branch"]);
  await git("commit", "-qam", "more");
}

/** Runs these steps in Claude Code with its sandbox on; what the model heard. */
async function claude(stage, steps) {
  stage.write(".claude/settings.local.json", { sandbox: { enabled: true, autoAllowBashIfSandboxed: true } });
  const api = await messagesApi(({ turn }) => steps[turn]);
  try {
    const env = { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "none", ...AUTHOR };
    await stage.run(clients.claude, ["-p", "begin", "--permission-mode", "acceptEdits", "--allowedTools", "mcp__twining"], { env });
    return told(api);
  } finally {
    await api.close();
  }
}

const shell = (command) => use("Bash", { command, description: "run" });
const post = (summary) => [
  use("ToolSearch", { query: "select:mcp__twining__twining_post" }),
  use("mcp__twining__twining_post", { entry_type: "finding", summary }),
];

test("protected: Claude Code keeps tools and scripts out of what is local, and all else works", { skip }, () =>
  onStage(async (stage) => {
    // Hooks read plain lines, not what scripts do.
    stage.write("script.sh", "echo x > .twining/local/forged; echo x > .git/hooks/forged; echo x > src.txt\n");
    await protectedProject(stage, "claude", "--protect");
    const heard = await claude(stage, [
      use("Write", { file_path: stage.path(".twining/local/forged"), content: "x" }),
      shell("sh script.sh"),
      shell("twining post finding 'by a shell'"),
      shell("git add src.txt && git commit -qm src && git log -1 --format=made:%s"),
      ...post("by the server"),
    ]);
    assert.equal(stage.read(".twining/local/forged"), null);
    assert.equal(stage.read(".git/hooks/forged"), null);
    assert.match(heard, /made:src/, "commits are made");
    const recent = await stage.ran("twining", ["recent"]);
    assert.match(recent, /by a shell/);
    assert.match(recent, /by the server/);
  }));

test("strict: records are the server's to write, and a checkout of other records fails in the sandbox", { skip }, () =>
  onStage(async (stage) => {
    stage.write("script.sh", "echo '{}' >> .twining/blackboard.jsonl\n");
    await protectedProject(stage, "claude", "--protect=strict");
    const before = stage.read(".twining/blackboard.jsonl");
    const heard = await claude(stage, [
      shell("sh script.sh"),
      shell("twining post finding 'by a shell'"),
      shell("git checkout other"),
    ]);
    assert.equal(stage.read(".twining/blackboard.jsonl"), before);
    assert.match(heard, /use the MCP tool/, "the shell is told the way");
    assert.match(heard, /unable to unlink old '.twining\/blackboard.jsonl'/, "what strict breaks");
    await claude(stage, post("by the server"));
    assert.match(await stage.ran("twining", ["recent"]), /by the server/);
  }));

for (const [flag, records] of [["--protect", "written"], ["--protect=strict", "kept"]]) {
  test(`Codex' sandbox reads what init ${flag} wrote`, () =>
    onStage(async (stage) => {
      await stage.ran("twining", ["init", "--agent", "codex", flag]);
      mkdirSync(stage.path(".twining/local"), { recursive: true });
      // Codex puts helpers into its home, and none below a temporary folder.
      const home = mkdtempSync(join(process.env.TWINING_CLIENTS, "codex-home-"));
      writeFileSync(join(home, "config.toml"), `[projects.${JSON.stringify(stage.project)}]\ntrust_level = "trusted"\n`);
      const line = "echo x > .twining/local/forged; echo x > .twining/forged; echo x > .git/hooks/forged; echo x > src.txt";
      const ended = await stage.run(clients.codex, ["sandbox", "--", "sh", "-c", line], { env: { CODEX_HOME: home } });
      rmSync(home, { recursive: true });
      assert.equal(stage.read("src.txt"), "x\n", ended.stderr);
      assert.equal(stage.read(".twining/local/forged"), null);
      assert.equal(stage.read(".git/hooks/forged"), null);
      assert.equal(stage.read(".twining/forged") === null ? "kept" : "written", records);
    }));
}
