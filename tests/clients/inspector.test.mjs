// The MCP Inspector on the command line: another reading of the protocol than ours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clients, onStage } from "./lib/stage.mjs";

for (const era of ["legacy", "modern"]) {
  const inspect = (stage, args) => stage.run(clients.inspector, ["--cli", "twining", "mcp", "--protocol-era", era, ...args]);

  test(`${era}: the schemas of our tools have no error`, () =>
    onStage(async (stage) => {
      const ended = await inspect(stage, ["--method", "tools/list", "--strict"]);
      assert.equal(ended.code, 0, ended.stderr);
      const names = JSON.parse(ended.stdout).tools.map((tool) => tool.name);
      assert.ok(names.includes("twining_assemble") && names.length > 30, names.join(" "));
      assert.doesNotMatch(ended.stderr, /[1-9]\d* errors?/);
    }));

  test(`${era}: a tool answers, and a wrong call is told what is wrong`, () =>
    onStage(async (stage) => {
      const call = (fields) => inspect(stage, ["--method", "tools/call", "--tool-name", "twining_post", "--tool-args-json", JSON.stringify(fields)]);
      const posted = await call({ entry_type: "finding", summary: "sessions are kept in a cookie" });
      assert.equal(posted.code, 0, posted.stderr);
      assert.match(await stage.ran("twining", ["recent"]), /kept in a cookie/);
      const refused = await call({ entry_type: "decision", summary: "use redis" });
      assert.equal(refused.code, 5, "a tool's error, not a protocol's");
      assert.match(refused.stdout, /twining_decide/, "it names the way forward");
    }));
}
