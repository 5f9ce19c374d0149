// The team service over HTTP: real clients in an empty folder, each with a token, on two nodes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { agents, call } from "./lib/agents.mjs";
import { clients } from "./lib/stage.mjs";
import { ask, skip, withTeam } from "./lib/team.mjs";

const QUEUE = { domain: "queue", scope: "src/queue/", summary: "Jobs are rows", context: "jobs got lost", rationale: "a row outlives a restart" };
const CACHE = { domain: "storage", scope: "src/cache/", summary: "Use SQLite", context: "reads are slow", rationale: "one file, no server" };
const FINDING = { entry_type: "finding", summary: "the cache is cold after a restart", scope: "src/cache/" };

/** As docs/guide/team.md says it; answers with what the session is told besides. */
const connect = {
  async claude(stage, address, token) {
    await stage.ran(clients.claude, ["mcp", "add", "--transport", "http", "twining", address, "--header", `Authorization: Bearer ${token}`]);
    return { tools: ["twining_post", "twining_decide", "twining_why"] };
  },
  async codex(stage, address, token) {
    await stage.ran(clients.codex, ["mcp", "add", "twining", "--url", address, "--bearer-token-env-var", "TWINING_TOKEN"]);
    return { server: `mcp_servers.twining.default_tools_approval_mode="approve"`, env: { TWINING_TOKEN: token } };
  },
};

for (const agent of Object.keys(agents)) {
  test(`${agent}: what one node was told is known on the other`, { skip }, () =>
    withTeam(`shop-${agent}`, async (stage, team) => {
      const [here, there] = team.addresses;
      const { token } = await team.token(`${agent}-agent`);
      const colleague = await team.token("colleague");
      await ask(there, colleague.token, "twining_decide", QUEUE);

      const options = await connect[agent](stage, here, token);
      const steps = [call("twining_post", FINDING), call("twining_decide", CACHE), call("twining_why", { scope: QUEUE.scope })];
      const heard = await agents[agent](stage, steps, options);
      assert.match(heard, /a row outlives a restart/, "the model is told what was decided on the other node");

      const why = JSON.stringify(await ask(there, colleague.token, "twining_why", { scope: CACHE.scope }));
      assert.match(why, /"summary":"Use SQLite"/);
      assert.match(why, new RegExp(`"principal":"${agent}-agent"`), "whose token it was");
      const recent = JSON.stringify(await ask(there, colleague.token, "twining_recent", {}));
      assert.match(recent, /cold after a restart/);
    }));
}

test("claude mcp list says connected, until the token is revoked", { skip }, () =>
  withTeam("shop-list", async (stage, team) => {
    const { id, token } = await team.token("claude-agent");
    await connect.claude(stage, team.addresses[1], token);
    assert.match(await stage.ran(clients.claude, ["mcp", "list"]), /twining: .*Connected/);
    await team.serve("token", "revoke", id);
    assert.match(await stage.ran(clients.claude, ["mcp", "list"]), /twining: .*Failed to connect.*401/);
  }));

test("a reader's token reads, and its writes are told the role they need", { skip }, () =>
  withTeam("shop-reader", async (stage, team) => {
    const { token } = await team.token("reader-agent", "reader");
    const options = await connect.claude(stage, team.addresses[0], token);
    const heard = await agents.claude(stage, [call("twining_post", FINDING)], options);
    assert.match(heard, /is `reader`, and this needs `writer`/);
    const recent = await ask(team.addresses[1], token, "twining_recent", {});
    assert.doesNotMatch(JSON.stringify(recent), /cold after a restart/);
  }));

for (const era of ["legacy", "modern"]) {
  test(`inspector, ${era}: the tools are listed and called, and a wrong call is told what is wrong`, { skip }, () =>
    withTeam(`shop-${era}`, async (stage, team) => {
      const [here, there] = team.addresses;
      const { token } = await team.token("inspector");
      const inspect = (...args) =>
        stage.run(clients.inspector, ["--cli", here, "--transport", "http", "--header", `Authorization: Bearer ${token}`, "--protocol-era", era, ...args]);

      const listed = await inspect("--method", "tools/list", "--strict");
      assert.equal(listed.code, 0, listed.stderr);
      const names = JSON.parse(listed.stdout).tools.map((tool) => tool.name);
      assert.ok(names.includes("twining_assemble") && names.length > 20, names.join(" "));
      assert.doesNotMatch(listed.stderr, /[1-9]\d* errors?/);

      const post = (fields) => inspect("--method", "tools/call", "--tool-name", "twining_post", "--tool-args-json", JSON.stringify(fields));
      const posted = await post(FINDING);
      assert.equal(posted.code, 0, posted.stderr);
      assert.match(JSON.stringify(await ask(there, token, "twining_recent", {})), /cold after a restart/);
      const refused = await post({ entry_type: "decision", summary: "use redis" });
      assert.equal(refused.code, 5, "a tool's error, not a protocol's");
      assert.match(refused.stdout, /twining_decide/, "it names the way forward");
    }));
}
