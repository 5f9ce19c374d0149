// Real repositories, filled by the real program; and `twining ui` on them, with a terminal or without.

import { execFile, spawn } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);

export const TWINING =
  process.env.TWINING_BIN ?? path.join(import.meta.dirname, "../../target/debug/twining");

/** An environment of a person: nothing of an agent that may run these tests is left in it. */
function environment(home) {
  return {
    PATH: process.env.PATH,
    HOME: home,
    XDG_RUNTIME_DIR: path.join(home, "run"),
    LANG: "C.UTF-8",
    TERM: "xterm",
    TZ: "UTC",
    GIT_AUTHOR_NAME: "Kim",
    GIT_AUTHOR_EMAIL: "kim@example.org",
    GIT_COMMITTER_NAME: "Kim",
    GIT_COMMITTER_EMAIL: "kim@example.org",
  };
}

/** A throwaway git repository. */
export class Project {
  constructor(name = "shop") {
    this.home = mkdtempSync(path.join(tmpdir(), "twining-ui-"));
    this.dir = path.join(this.home, name);
    this.env = environment(this.home);
    this.servers = [];
    this.agents = [];
    mkdirSync(this.dir);
    mkdirSync(path.join(this.home, "run"), { mode: 0o700 });
    writeFileSync(
      path.join(this.home, ".gitconfig"),
      "[user]\n\tname = Kim\n\temail = kim@example.org\n[init]\n\tdefaultBranch = main\n",
    );
  }

  async init() {
    await this.git("init", "-q", "-b", "main");
    this.write("README.md", "# shop\n");
    await this.git("add", "-A");
    await this.git("commit", "-qm", "first");
    return this;
  }

  async git(...words) {
    return (await run("git", words, { cwd: this.dir, env: this.env })).stdout;
  }

  write(file, text) {
    const place = path.join(this.dir, file);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, text);
  }

  read(file) {
    return readFileSync(path.join(this.dir, file), "utf8");
  }

  append(file, text) {
    appendFileSync(path.join(this.dir, file), text);
  }

  /** A command line, as an agent of this name types it. */
  async twining(agent, ...words) {
    return (
      await run(TWINING, [...words, "--agent", agent], {
        cwd: this.dir,
        env: this.env,
        maxBuffer: 1 << 26,
      })
    ).stdout;
  }

  /** A verb with the tool's own JSON, called by an agent of this name. */
  async call(agent, command, input = {}) {
    const words = [...command.split(" "), "--json", "--json-input", "-", "--agent", agent];
    const { code, out, err } = await piped(TWINING, words, JSON.stringify(input), {
      cwd: this.dir,
      env: this.env,
    });
    const answer = out.trim() ? JSON.parse(out) : {};
    if (answer.error || code !== 0)
      throw new Error(`twining ${command} ${JSON.stringify(input)}: ${out}${err}`);
    return answer;
  }

  /** What a hook of a host answers to an event. */
  async hook(event, payload) {
    return piped(
      TWINING,
      ["hook", event],
      JSON.stringify({ cwd: this.dir, session_id: "s1", hook_event_name: event, ...payload }),
      { cwd: this.dir, env: this.env },
    );
  }

  /** Starts `twining ui`; with a terminal its links may act. */
  async ui(options = {}) {
    const server = await Ui.start(this, options);
    this.servers.push(server);
    return server;
  }

  /** Starts `twining mcp` for an agent of this name. */
  async agent(name) {
    const agent = new Agent(this, name);
    this.agents.push(agent);
    await agent.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    agent.send({ method: "notifications/initialized" });
    return agent;
  }

  async remove() {
    await Promise.all([...this.servers, ...this.agents].map((process) => process.stop()));
    rmSync(this.home, { recursive: true, force: true });
  }
}

function piped(program, words, input, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, options);
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** A running `twining mcp`: one JSON-RPC message a line. */
export class Agent {
  constructor({ dir, env }, name) {
    this.answers = new Map();
    this.child = spawn(TWINING, ["mcp", "--agent", name], {
      cwd: dir,
      env,
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.ended = new Promise((resolve) => this.child.once("exit", resolve));
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      this.answers.get(message.id)?.(message);
    });
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async request(method, params) {
    const id = this.answers.size + 1;
    const answer = new Promise((resolve) => this.answers.set(id, resolve));
    this.send({ id, method, params });
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** What a tool answers. */
  async call(tool, input) {
    const result = await this.request("tools/call", { name: tool, arguments: input });
    if (result.isError) throw new Error(`${tool}: ${JSON.stringify(result.content)}`);
    return result.structuredContent;
  }

  /** Ends as a host ends it: nothing more comes on its input. */
  async stop() {
    this.child.stdin.end();
    await this.ended;
  }
}

/** A running `twining ui`. */
export class Ui {
  static async start(project, { terminal = true, port, words = [] } = {}) {
    const ui = new Ui();
    ui.project = project;
    ui.terminal = terminal;
    const { child, link } = await ui.print([...words, ...(port ? ["--port", String(port)] : [])]);
    ui.child = child;
    ui.origin = new URL(link).origin;
    ui.port = new URL(link).port;
    ui.firstLink = link;
    return ui;
  }

  /** Runs `twining ui --print` until it says its link. */
  print(words, terminal = this.terminal) {
    const command = ["ui", "--print", ...words];
    const { dir, env } = this.project;
    const shell = [TWINING, ...command].map((word) => `'${word}'`).join(" ");
    const child = terminal
      ? spawn("script", ["-qefc", shell, "/dev/null"], {
          cwd: dir,
          env,
          detached: true,
          stdio: ["pipe", "pipe", "pipe"],
        })
      : spawn(TWINING, command, {
          cwd: dir,
          env,
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
        });
    return new Promise((resolve, reject) => {
      let said = "";
      const hear = (data) => {
        said += data;
        const link = /http:\/\/127\.0\.0\.1:\d+\/\S*#c=\w+/.exec(said)?.[0];
        if (link) resolve({ child, link });
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("error", reject);
      child.on("close", (code) => reject(new Error(`twining ui ended with ${code}: ${said}`)));
    });
  }

  /** A fresh link, asked for at a terminal or not. */
  async link(words = [], terminal = this.terminal) {
    const { child, link } = await this.print(words, terminal);
    child.removeAllListeners("close");
    child.stdin?.end();
    return link;
  }

  /** A key, as the page gets one. */
  async key() {
    this.knownKey ??= await (async () => {
      const code = /#c=(\w+)/.exec(this.firstLink)[1];
      const answer = await fetch(`${this.origin}/key`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      });
      const { key } = await answer.json();
      if (!key) throw new Error("no key");
      return key;
    })();
    return this.knownKey;
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.removeAllListeners("close");
    process.kill(-this.child.pid, "SIGTERM");
    await ended;
  }
}
