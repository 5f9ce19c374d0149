// The team service that scripts/clients started: a database, two nodes and one with sessions, for every proof that wants them.

import { createServer, request } from "node:http";
import { onStage, Stage } from "./stage.mjs";

const started = process.env.TWINING_TEAM ? JSON.parse(process.env.TWINING_TEAM) : null;

/** Why proofs of the service are not run, if they are not. */
export const skip = started ? false : "there is no PostgreSQL here, or scripts/clients did not start this";

/** A repository of the service, and how it is reached on each node. */
class Team {
  constructor(stage, name) {
    this.stage = stage;
    this.name = name;
    this.addresses = started?.nodes.map((node) => `${node}/acme/${name}/mcp`);
    this.withSessions = started && `${started.sessions}/acme/${name}/mcp`;
  }

  /** What somebody who runs the service does. */
  async serve(...words) {
    const env = { TWINING_DATABASE_URL: started.database };
    return JSON.parse(await this.stage.ran("twining", ["serve", ...words, "--json"], { env }));
  }

  /** A token of this repository: `{ id, token }`. */
  token(name, role = "writer") {
    return this.serve("token", "add", "--tenant", "acme", "--repo", this.name, "--role", role, "--name", name);
  }
}

/** Runs a proof in an empty folder, with a repository of its own on the service. */
export const withTeam = (name, proof) =>
  onStage(
    async (stage) => {
      const team = new Team(stage, name);
      await team.serve("repo", "add", "acme", name);
      await proof(stage, team);
    },
    async () => new Stage(),
  );

/** Calls a tool with nothing but a request; answers with what it said as JSON. */
export async function ask(address, token, tool, fields) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "proof", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(address, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": tool,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: fields, _meta: meta } }),
  });
  const { result, error } = await response.json();
  if (!result || result.isError) throw new Error(`${tool}: ${response.status} ${JSON.stringify(result ?? error)}`);
  return result.structuredContent;
}

/** Passes requests on as they are but for the token, for clients that cannot send one; `answered` has every status. */
export async function tokenProxy(address, token) {
  const answered = new Set();
  const target = new URL(address);
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, rawHeaders } = incoming;
    const headers = [...rawHeaders, "Authorization", `Bearer ${token}`];
    const passed = request({ host: target.hostname, port: target.port, method, path, headers, setHost: false }, (answer) => {
      answered.add(answer.statusCode);
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${server.address().port}${target.pathname}`;
  return { url, answered, close: () => new Promise((closed) => server.close(closed).closeAllConnections()) };
}
