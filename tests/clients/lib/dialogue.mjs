// A program that is spoken to in JSON lines.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Starts a program; `ask` sends a request and waits for its answer. */
export function dialogue(program, args, options) {
  const [file, words] = /\.[cm]?js$/.test(program) ? [process.execPath, [program, ...args]] : [program, args];
  const child = spawn(file, words, { ...options, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  let asked = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = line.startsWith("{") ? JSON.parse(line) : {};
    if (message.id !== undefined && !message.method) waiting.get(message.id)?.(message);
  });
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  return {
    tell: (method, params) => send({ jsonrpc: "2.0", method, params }),
    ask(method, params = {}) {
      const id = (asked += 1);
      return new Promise((answered, failed) => {
        const late = setTimeout(() => failed(new Error(`${method} was not answered`)), 30_000);
        waiting.set(id, (message) => {
          clearTimeout(late);
          if (message.error) failed(new Error(`${method}: ${JSON.stringify(message.error)}`));
          else answered(message.result);
        });
        send({ jsonrpc: "2.0", id, method, params });
      });
    },
    /** Ends it, and tells with what code. */
    close() {
      child.stdin.end();
      const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
      return new Promise((closed) => child.on("close", (code) => (clearTimeout(late), closed(code))));
    },
  };
}
