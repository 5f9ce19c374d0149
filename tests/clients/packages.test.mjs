// What is published: the npm packages run, the bundle is valid, and every file names one version.

import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { dialogue } from "./lib/dialogue.mjs";
import { clients, onStage, repository, Stage } from "./lib/stage.mjs";

const read = (name) => readFileSync(join(repository, name), "utf8");
const npm = join(dirname(process.execPath), "../../npm/bin/npm-cli.js");

/** A stage with everything `scripts/package` makes of the program under test. */
async function packaged() {
  const stage = new Stage();
  const binaries = join(stage.root, "binaries");
  mkdirSync(binaries);
  copyFileSync(stage.twining, join(binaries, "twining-linux-x64"));
  stage.out = join(stage.root, "out");
  const make = () => stage.ran(process.execPath, [join(repository, "scripts/package"), "somebody", binaries, stage.out]);
  await make();
  stage.packageAgain = make;
  return stage;
}

test("every file that names a version names the same one", () => {
  const version = /^\[workspace\.package\]\nversion = "(.+)"$/m.exec(read("Cargo.toml"))[1];
  const server = JSON.parse(read("server.json"));
  const wrapper = JSON.parse(read("npm/twining/package.json"));
  const named = {
    plugin: JSON.parse(read("plugin/.claude-plugin/plugin.json")).version,
    marketplace: JSON.parse(read(".claude-plugin/marketplace.json")).plugins[0].version,
    bundle: JSON.parse(read("mcpb/manifest.json")).version,
    server: server.version,
    serverPackage: server.packages[0].version,
    wrapper: wrapper.version,
    platform: JSON.parse(read("npm/platform/package.json")).version,
    ...wrapper.optionalDependencies,
  };
  assert.deepEqual(named, Object.fromEntries(Object.keys(named).map((name) => [name, version])));
  assert.equal(wrapper.mcpName, server.name, "the registry asks the npm package whose it is");
  assert.ok(server.description.length <= 100, "the registry takes no longer description");
});

test("the plugin names only tools there are", () =>
  onStage(async (stage) => {
    const server = dialogue("twining", ["mcp"], { cwd: stage.project, env: stage.env });
    await server.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "proof", version: "1" } });
    server.tell("notifications/initialized");
    const tools = new Set((await server.ask("tools/list")).tools.map((tool) => tool.name));
    assert.equal(await server.close(), 0);
    const files = readdirSync(join(repository, "plugin"), { recursive: true }).filter((name) => name.endsWith(".md"));
    const named = files.flatMap((name) => read(join("plugin", name)).match(/\btwining_[a-z_]+[a-z]/g) ?? []);
    const known = named.map((name) => name.replace(/^twining_twining__/, ""));
    assert.ok(known.length > 20);
    assert.deepEqual(known.filter((name) => !tools.has(name)), []);
  }));

test("the npm packages install and run what was built", () =>
  onStage(async (stage) => {
    const packages = readdirSync(join(stage.out, "npm")).map((name) => join(stage.out, "npm", name));
    const offline = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    await stage.ran(npm, ["install", "--global", "--prefix", join(stage.root, "global"), "--install-links", ...offline, ...packages]);
    const shim = join(stage.root, "global/bin/twining");
    assert.equal(await stage.ran(shim, ["--version"]), await stage.ran(stage.twining, ["--version"]));
    assert.equal((await stage.run(shim, ["no-such-verb"])).code, 2, "its exit code is the program's");
    const server = dialogue(shim, ["mcp"], { cwd: stage.project, env: stage.env });
    const answer = await server.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "proof", version: "1" } });
    assert.equal(answer.serverInfo.name, "twining");
    assert.equal(await server.close(), 0, "it ends with its input");
  }, packaged));

test("the bundle is valid, packs, and is listed with its hash", () =>
  onStage(async (stage) => {
    const folder = join(stage.out, "mcpb/twining-linux-x64");
    await stage.ran(clients.mcpb, ["validate", join(folder, "manifest.json")]);
    // Judged by what it says: once it did not end by itself after it was done.
    const packed = await stage.run(clients.mcpb, ["pack", folder, `${folder}.mcpb`]);
    assert.match(packed.stdout, /^Output: /m, packed.stderr);
    assert.ok(existsSync(`${folder}.mcpb`));
    await stage.packageAgain();
    const server = JSON.parse(readFileSync(join(stage.out, "server.json"), "utf8"));
    assert.equal(server.name, "io.github.somebody/twining");
    const bundle = server.packages.find((entry) => entry.registryType === "mcpb");
    assert.match(bundle.fileSha256, /^[0-9a-f]{64}$/);
    assert.match(bundle.identifier, /somebody\/twining\/releases\/download\/v\d.*\/twining-linux-x64\.mcpb$/);
    assert.doesNotMatch(JSON.stringify(server), /OWNER|PLATFORM/);
  }, packaged));
