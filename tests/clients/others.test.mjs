// Clients that are only asked whether they reach us.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clients, onStage } from "./lib/stage.mjs";

test("gemini mcp list says connected", () =>
  onStage(async (stage) => {
    await stage.ran(clients.gemini, ["mcp", "add", "-s", "project", "twining", "twining", "mcp"]);
    const { stdout, stderr } = await stage.run(clients.gemini, ["mcp", "list"], { env: { GEMINI_CLI_TRUST_WORKSPACE: "true" } });
    assert.match(stdout + stderr, /twining: .*Connected/);
  }));

test("opencode mcp list says connected", () =>
  onStage(async (stage) => {
    stage.write("opencode.json", { mcp: { twining: { type: "local", command: ["twining", "mcp"], enabled: true } } });
    const { stdout, stderr } = await stage.run(clients.opencode, ["mcp", "list"]);
    assert.match(stdout + stderr, /twining\S* .*connected/);
  }));
