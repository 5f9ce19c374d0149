// The protocol's own suite, over HTTP, against the example `conformance`: `twining mcp` has only stdio.
//
// Twice for each revision: with the fixtures the suite wants, where everything must pass; and the server as it is, where the
// failures are those listed. A listed failure that passes fails too, so that the list stays true.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clients, onStage } from "./lib/stage.mjs";

const here = dirname(fileURLToPath(import.meta.url));

async function judged(stage, server, args) {
  const child = spawn(resolve(process.env.TWINING_FIXTURE_BIN), [server], {
    cwd: stage.project,
    env: stage.env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  try {
    const unable = closed.then(() => assert.fail("the server ended at once"));
    const [url] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), unable]);
    return await stage.run(clients.conformance, ["server", "--url", url, ...args], { seconds: 240 });
  } finally {
    child.stdin.end();
    await closed;
  }
}

for (const revision of ["2025-11-25", "2026-07-28"]) {
  const skip = process.env.TWINING_FIXTURE_BIN ? false : "TWINING_FIXTURE_BIN is not set";

  test(`${revision}: with the suite's fixtures everything passes`, { skip }, () =>
    onStage(async (stage) => {
      const ended = await judged(stage, "fixtures", ["--requirements", revision]);
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      assert.match(ended.stdout, /✓ tools-call-simple-text: 2 passed, 0 failed/, "the fixtures were asked");
    }));

  test(`${revision}: as it is, the server fails what is listed and nothing else`, { skip }, () =>
    onStage(async (stage) => {
      const listed = join(here, `conformance-${revision}.yml`);
      const ended = await judged(stage, "product", ["--requirements", revision, "--expected-failures", listed]);
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    }));
}
