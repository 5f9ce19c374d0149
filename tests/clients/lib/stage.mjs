// A throwaway repository and a home of its own for each proof, and how programs are run there.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** The repository's root. */
export const repository = resolve(here, "../../..");

const modules = join(required("TWINING_CLIENTS"), "node_modules");
const twiningProgram = resolve(required("TWINING_BIN"));

/** Programs under test: the ones npm installed, called without their wrappers. */
export const clients = {
  claude: join(modules, "@anthropic-ai/claude-code-linux-x64/claude"),
  codex: join(modules, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
  gemini: join(modules, "@google/gemini-cli/bundle/gemini.js"),
  opencode: join(modules, "opencode-linux-x64/bin/opencode"),
  inspector: join(modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
  conformance: join(modules, "@modelcontextprotocol/conformance/dist/index.js"),
  mcpb: join(modules, "@anthropic-ai/mcpb/dist/cli/cli.js"),
};

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; scripts/clients sets it`);
  return value;
}

/** A project with `twining` first on the path and nothing of the person who runs this. */
export class Stage {
  constructor() {
    this.root = mkdtempSync(join(tmpdir(), "twining-client-"));
    this.project = join(this.root, "project");
    this.home = join(this.root, "home");
    const bin = join(this.root, "bin");
    for (const folder of [this.project, this.home, bin]) mkdirSync(folder);
    this.twining = twiningProgram;
    symlinkSync(twiningProgram, join(bin, "twining"));
    this.env = {
      PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: this.home,
      XDG_CONFIG_HOME: join(this.home, ".config"),
      TMPDIR: tmpdir(),
      LANG: "C.UTF-8",
      TERM: "dumb",
      NO_COLOR: "1",
      GIT_CONFIG_NOSYSTEM: "1",
      // Nobody is there to be asked, and nothing is to leave the machine.
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    };
  }

  /** A stage with a git repository and a feature that is not tested. */
  static async withFeature() {
    const stage = new Stage();
    await stage.ran("git", ["init", "-q", "."]);
    stage.write("feature-list.json", JSON.stringify({ features: [{ id: "F1", description: "log out", tested: false }] }));
    await stage.ran("twining", ["post", "warning", "bcrypt cost 12 blocks the event loop", "--scope", "src/auth/"]);
    return stage;
  }

  /** Commits what is there: what slips past a call is found by comparison with a commit. */
  async commit() {
    const author = ["-c", "user.name=Sam", "-c", "user.email=sam@example.com"];
    await this.ran("git", ["add", "-A"]);
    await this.ran("git", [...author, "commit", "-qm", "start"]);
  }

  /** Puts another program, or none, where clients look for ours. */
  replaceTwining(text) {
    const program = join(this.root, "bin/twining");
    rmSync(program);
    if (text !== null) writeFileSync(program, text, { mode: 0o755 });
  }

  /** Keeps what clients and git hand to our hooks from here on, and what they are answered. */
  recordHooks() {
    this.recordings = join(this.root, "hooks");
    mkdirSync(this.recordings);
    this.replaceTwining(`#!/bin/sh
[ "$1" = hook ] || exec '${this.twining}' "$@"
call='${this.recordings}'/$(date +%s%N)-$$
printf '%s' "$4" > "$call.event"
cat > "$call.input"
'${this.twining}' "$@" < "$call.input" > "$call.output" 2> "$call.stderr"
code=$?
cat "$call.output"
cat "$call.stderr" >&2
echo $code > "$call.code"
exit $code
`);
  }

  /** The recorded calls of hooks that ended, oldest first: `{ event, code, input, answer, stderr }`. */
  hookCalls(event) {
    const ended = readdirSync(this.recordings).filter((name) => name.endsWith(".code"));
    const text = (call, part) => readFileSync(join(this.recordings, `${call}.${part}`), "utf8").trim();
    const json = (words) => (words ? JSON.parse(words) : {});
    return ended
      .map((name) => name.slice(0, -".code".length))
      .sort()
      .map((call) => ({
        event: text(call, "event"),
        code: Number(text(call, "code")),
        input: json(text(call, "input")),
        answer: json(text(call, "output")),
        stderr: text(call, "stderr"),
      }))
      .filter((call) => event === undefined || call.event === event);
  }

  path(name) {
    return join(this.project, name);
  }

  write(name, content) {
    write(this.path(name), content);
  }

  writeAtHome(name, content) {
    write(join(this.home, name), content);
  }

  /** Tests that pass. */
  writeTests() {
    this.write("a.test.mjs", `import { test } from "node:test";\ntest("a", () => {});\n`);
  }

  read(name) {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), "utf8") : null;
  }

  /** Runs a program to its end; scripts are run by this Node. */
  run(program, args, { env = {}, input = "", seconds = 180, cwd = this.project } = {}) {
    const [file, words] = /\.[cm]?js$/.test(program) ? [process.execPath, [program, ...args]] : [program, args];
    return new Promise((done, failed) => {
      const child = spawn(file, words, { cwd, env: { ...this.env, ...env }, detached: true });
      const out = [];
      const err = [];
      child.stdout.on("data", (chunk) => out.push(chunk));
      child.stderr.on("data", (chunk) => err.push(chunk));
      child.on("error", failed);
      // A client that hangs takes its helpers with it: they are one process group.
      const late = setTimeout(() => process.kill(-child.pid, "SIGKILL"), seconds * 1000);
      child.on("close", (code) => {
        clearTimeout(late);
        done({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() });
      });
      // It may end without reading.
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
  }

  /** Runs what has to succeed. */
  async ran(program, args, options) {
    const ended = await this.run(program, args, options);
    if (ended.code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${ended.code}\n${ended.stdout}\n${ended.stderr}`);
    return ended.stdout;
  }

  close() {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function write(file, content) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
}

/** Runs a proof on a stage that is cleared away, unless `TWINING_KEEP` is set. */
export async function onStage(proof, make = Stage.withFeature) {
  const stage = await make();
  try {
    await proof(stage);
  } finally {
    if (process.env.TWINING_KEEP) console.error(`kept: ${stage.root}`);
    else stage.close();
  }
}

/** The JSON lines of an output. */
export const lines = (text) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
