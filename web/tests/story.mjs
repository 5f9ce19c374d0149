// A believable project: three agents build a shop, disagree once, ask, are stopped, and hand over.

/** Makes an entry look as old as this; the file is the truth, so that is enough. */
export function makeOlder(project, id, minutes) {
  const file = ".twining/blackboard.jsonl";
  const lines = project
    .read(file)
    .split("\n")
    .map((line) => {
      if (!line.includes(id)) return line;
      const entry = JSON.parse(line);
      if (entry.id !== id) return line;
      return JSON.stringify({
        ...entry,
        timestamp: new Date(Date.parse(entry.timestamp) - minutes * 60_000).toISOString(),
      });
    });
  project.write(file, lines.join("\n"));
}

/** Two decisions that contradict each other; told by command lines if nothing else is said. */
export async function contradict(
  project,
  decide = (agent, decision) => project.call(agent, "decide", decision),
) {
  const jwt = await decide("ada", {
    summary: "Use stateless JWT for sessions",
    domain: "architecture",
    scope: "src/auth/",
    context: "We want to scale out without a session store.",
    rationale: "There is no session store to run.",
    alternatives: [{ option: "Sessions in redis", reason_rejected: "state to run" }],
    rules_out: ["express-session"],
    confidence: "high",
    affected_files: ["src/auth/jwt.ts"],
  });
  const sessions = await decide("bob", {
    summary: "Use server sessions in redis",
    domain: "architecture",
    scope: "src/auth/",
    context: "People must be able to log out everywhere (F7).",
    rationale: "Tokens cannot be revoked.",
    alternatives: [{ option: "JWT with a deny list", reason_rejected: "a store anyway" }],
    affected_files: ["src/auth/session.ts"],
  });
  return { jwt: jwt.id, sessions: sessions.id };
}

const POLICY = `guards:
  - id: no-force-push
    tools: [Bash]
    when: {command: [git push -f, git push --force]}
    say: history that others have is not rewritten
    next_step: git push --force-with-lease, after asking
  - id: no-direct-sql
    status: proposed
    action: warn
    when: {command: [psql -c]}
    say: SQL goes through the query builder
`;

/** A guard that blocks, and one that waits to be promoted. */
export function setGuards(project) {
  project.write(".twining/policy.yml", POLICY);
  return { guard: "no-force-push", proposed: "no-direct-sql" };
}

/** A call of a host's shell tool, judged by the hook; what it answered. */
export function bash(project, command) {
  return project.hook("PreToolUse", { tool_name: "Bash", tool_input: { command } });
}

/** A feature that failed until a person is asked. */
export async function blockFeature(project, id = "F9") {
  await project.call("ada", "features", {
    action: "add",
    id,
    description: "Import from CSV",
    files: ["src/import/csv.ts"],
    acceptance_criteria: ["a byte order mark is skipped", "an empty file is no error"],
  });
  await project.call("ada", "report", { feature: id, role: "coder", outcome: "started" });
  await project.call("ada", "report", {
    feature: id,
    role: "coder",
    outcome: "blocked",
    summary: "3 of 41 tests fail: test_import_utf8, test_import_bom, test_import_empty",
  });
}

export async function tellStory(project) {
  for (const [file, text] of Object.entries({
    "src/auth/jwt.ts": "export const sign = () => '';\n",
    "src/auth/session.ts": "export const open = () => '';\n",
    "src/import/csv.ts": "export const read = () => [];\n",
    "src/net/proxy.ts": "export const port = 8080;\n",
  }))
    project.write(file, text);
  await project.git("add", "-A");
  await project.git("commit", "-qm", "a shop");

  const money = await project.call("ada", "decide", {
    summary: "Money is integers of cents",
    domain: "data",
    scope: "src/money/",
    rationale: "Floats lose cents.",
  });
  await project.call("bob", "decide", {
    summary: "Retry with jitter, at most five times",
    domain: "implementation",
    scope: "src/net/",
    rationale: "Thundering herds.",
    depends_on: [money.id],
  });
  await project.call("ada", "decide", {
    summary: "Signing keys live in the vault",
    domain: "security",
    scope: "src/auth/keys/",
    rationale: "They were in the repository once.",
  });
  const { jwt, sessions } = await contradict(project);

  const finding = await project.call("bob", "post", {
    entry_type: "finding",
    summary: "The proxy strips the Authorization header on redirects",
    scope: "src/net/proxy.ts",
    tags: ["http"],
    detail:
      "Seen with `curl -L`:\n\n- the first answer is a **redirect**\n- the second request has no header\n\n```\nGET / HTTP/1.1\n```",
  });
  await project.call("ada", "post", {
    entry_type: "warning",
    summary: "bcrypt with cost 12 blocks the event loop",
    scope: "src/auth/",
    tags: ["speed"],
  });
  const question = await project.call("bob", "post", {
    entry_type: "question",
    summary: "Which port does the proxy use in staging?",
    scope: "src/net/",
    detail: "The config says 8080, the docs say 8443.",
  });
  const need = await project.call("ada", "post", {
    entry_type: "need",
    summary: "Somebody with access must rotate the signing key",
    scope: "src/auth/",
  });
  makeOlder(project, question.id, 25);
  makeOlder(project, need.id, 95);

  await project.call("ada", "features", {
    action: "add",
    id: "F7",
    description: "Log out everywhere",
    files: ["src/auth/session.ts"],
    acceptance_criteria: ["old tokens are refused", "a device list is shown"],
    priority: "high",
  });
  await project.call("ada", "report", { feature: "F7", role: "coder", outcome: "started" });
  await project.call("ada", "report", {
    feature: "F7",
    role: "coder",
    outcome: "completed",
    summary: "written",
  });
  await project.call("ada", "features", {
    action: "add",
    id: "F12",
    description: "Export to CSV",
    depends_on: ["F7"],
  });
  await blockFeature(project);
  await project.call("bob", "record-turn", {
    task: "TASK-F7-1",
    feature: "F7",
    turn: 1,
    player_decision: "done",
    coach_decision: "revise",
    progress_summary: "Old tokens are still **accepted** after logout.",
  });

  for (const [name, type] of [
    ["auth", "module"],
    ["SessionStore", "class"],
    ["src/auth/session.ts", "file"],
    ["redis", "dependency"],
  ])
    await project.call("ada", "add-entity", { name, type, properties: { team: "identity" } });
  for (const [source, type, target] of [
    ["auth", "depends_on", "SessionStore"],
    ["SessionStore", "implements", "src/auth/session.ts"],
    ["SessionStore", "depends_on", "redis"],
  ])
    await project.call("ada", "add-relation", { source, type, target });

  await project.call("ada", "register", { capabilities: ["typescript"], role: "coder" });
  await project.call("bob", "register", { capabilities: ["review"], role: "coach" });
  await project.call("ada", "claim", {
    paths: ["src/auth"],
    reason: "log out everywhere",
    ttl: "2h",
  });
  const handoff = await project.call("cy", "handoff", {
    summary: "Finish the guide to the CSV import",
    scope: "docs/",
    results: [{ description: "first half", status: "partial" }],
  });
  const guards = setGuards(project);
  for (const command of [
    "psql -c 'select 1'",
    "cd x && git push --force",
    "git push -f origin main",
  ])
    await bash(project, command);
  const { traces } = await project.call("ada", "query-traces", { guard: guards.guard });
  return {
    /** When it was told: pictures of it stand at this time. */
    at: Date.now(),
    jwt,
    sessions,
    money: money.id,
    question: question.id,
    need: need.id,
    finding: finding.id,
    handoff: handoff.id,
    ...guards,
    trace: traces[0].trace.id,
  };
}

/** The address of every page and kind of record. */
export function addresses(story) {
  return {
    now: "/",
    settled: "/?settled=1",
    stream: "/stream",
    "stream-search": "/stream?q=proxy",
    decisions: "/decisions",
    decision: `/d/${story.money}`,
    contested: `/d/${story.sessions}`,
    entry: `/e/${story.finding}`,
    features: "/features",
    feature: "/f/F7",
    guards: "/guards",
    guard: `/g/${story.guard}`,
    proposed: `/g/${story.proposed}`,
    trace: `/t/${story.trace}`,
    map: "/map",
    "map-table": "/map?as=table",
    node: "/n/SessionStore",
    agent: "/a/ada",
    preview: "/preview?task=rotate+signing+keys&scope=src/auth/",
    health: "/health",
    changes: "/changes",
    missing: "/nothing-here",
  };
}
