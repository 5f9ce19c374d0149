// The protocol's own suite against a node of the team service. It fails what the example's server fails, a few things
// more that are listed, and nothing else; a listed failure that passes fails too, so that the lists stay true.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clients } from "./lib/stage.mjs";
import { skip, tokenProxy, withTeam } from "./lib/team.mjs";

const here = dirname(fileURLToPath(import.meta.url));

const withoutSessions = ["server-sse-multiple-streams"];

/** Both lists as one; each is one list under one key. */
function expected(revision, hasSessions) {
  const [ours, more] = ["conformance", "service-conformance"].map((name) => readFileSync(join(here, `${name}-${revision}.yml`), "utf8"));
  const lines = (ours + more.replace(/^server:\n/m, "")).split("\n");
  return lines.filter((line) => !hasSessions || !withoutSessions.some((name) => line.trim() === `- ${name}`)).join("\n");
}

for (const revision of ["2025-11-25", "2026-07-28"]) {
  for (const hasSessions of [false, true]) {
    const kind = hasSessions ? "a node with sessions" : "a node";
    test(`${revision}: ${kind} fails what is listed and nothing else`, { skip }, () =>
      withTeam(`suite-${revision}-${hasSessions}`, async (stage, team) => {
        const { token } = await team.token("suite");
        const proxy = await tokenProxy(hasSessions ? team.withSessions : team.addresses[0], token);
        stage.write("expected.yml", expected(revision, hasSessions));
        try {
          const words = ["server", "--url", proxy.url, "--requirements", revision, "--expected-failures", "expected.yml"];
          const ended = await stage.run(clients.conformance, words, { seconds: 240 });
          assert.equal(ended.code, 0, ended.stdout + ended.stderr);
          assert.match(ended.stdout, /dns-rebinding-protection: 1 passed, 1 failed/, "a foreign host is refused");
          for (const status of [401, 429, 503]) assert.ok(!proxy.answered.has(status), `nothing failed for a ${status}`);
        } finally {
          await proxy.close();
        }
      }));
  }
}
