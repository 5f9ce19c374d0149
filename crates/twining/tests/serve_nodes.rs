//! Nodes of `twining serve` on one PostgreSQL: what one is told, all know; one that dies is not
//! missed; the database may go away and come back.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_testkit::files::shared_state;

use crate::common::Project;
use crate::common::team::{ServiceNode, Team, eventually, files_below};
use crate::common::terminal::at_terminal;

fn decision(summary: &str) -> Value {
    json!({
        "domain": "storage", "scope": "src/cache/", "summary": summary,
        "context": "reads are slow", "rationale": "it is simple",
    })
}

fn summaries(node: &ServiceNode, token: &str) -> Vec<String> {
    let why = node.call(token, "why", json!({"scope": "src/cache/"}));
    let decisions = why["decisions"].as_array().cloned().unwrap_or_default();
    let summary = |decision: &Value| decision["summary"].as_str().unwrap_or_default().to_owned();
    decisions.iter().map(summary).collect()
}

#[test]
fn a_decision_on_one_node_is_known_on_another_and_outlives_both() {
    let Some(team) = Team::new() else { return };
    let (writer, reader) = (team.token("shop", "writer"), team.token("shop", "reader"));
    let (mut first, second) = (team.node("n1"), team.node("n2"));

    let decided = first.call(&writer, "decide", decision("use sqlite"));
    assert!(decided["id"].is_string(), "{decided}");
    assert_eq!(summaries(&second, &reader), ["use sqlite"]);

    first.kill();
    assert_eq!(summaries(&second, &reader), ["use sqlite"]);
    let posted = second.call(
        &writer,
        "post",
        json!({
            "entry_type": "finding", "summary": "the cache is cold", "scope": "/home/ada/x.rs",
        }),
    );
    assert_eq!(posted["code"], "INVALID_INPUT", "another machine's path: {posted}");
    assert!(posted["hint"].as_str().expect("text").contains("Twining-Root"), "{posted}");
    let claimed = second.call(&writer, "claim", json!({"paths": ["/home/ada/x.rs"]}));
    assert!(claimed["hint"].as_str().expect("text").contains("Twining-Root"), "{claimed}");
    let params = json!({"name": "twining_post", "arguments": {
        "entry_type": "finding", "summary": "the cache is cold", "scope": "/home/ada/shop/src/cache/x.rs",
    }});
    let root = [("twining-root", "/home/ada/shop")];
    let posted = second.mcp_with("/acme/shop/mcp", &writer, "tools/call", params, &root).json();
    assert_eq!(posted["result"]["isError"], json!(false), "{posted}");

    let third = team.node("n3");
    let recent = third.call(&reader, "recent", json!({}));
    let entry = recent["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|entry| entry["summary"] == "the cache is cold")
        .expect("is there");
    assert_eq!(entry["scope"], "src/cache/x.rs");
    assert_eq!(entry["agent_id"], "agent-writer");
    let exported = team.path("exported");
    let to = exported.to_str().expect("is text");
    team.admin(&["export", "--tenant", "acme", "--repo", "shop", "--to", to]);
    // Another time it would be neither this memory nor the one that is there.
    let again = ["export", "--tenant", "acme", "--repo", "shop", "--to", to];
    assert_eq!(team.command(&again).output().expect("runs").status.code(), Some(1));
    let records = files_below(&exported.join(".twining"));
    let all: String = records.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect();
    assert!(all.contains("use sqlite") && all.contains("\"principal\":\"agent-writer\""));
}

#[test]
fn rivals_decided_on_two_nodes_at_once_are_never_both_active() {
    let Some(team) = Team::new() else { return };
    let writer = team.token("shop", "writer");
    let (first, second) = (team.node("n1"), team.node("n2"));
    std::thread::scope(|scope| {
        for (node, choice) in [(&first, "use redis"), (&second, "use sqlite")] {
            let writer = &writer;
            scope.spawn(move || node.call(writer, "decide", decision(choice)));
        }
    });
    let why = first.call(&writer, "why", json!({"scope": "src/cache/"}));
    let decisions = why["decisions"].as_array().expect("a list");
    let active = decisions.iter().filter(|decision| decision["status"] == "active").count();
    assert_eq!((decisions.len(), active), (2, 1), "{why}");
}

#[test]
fn a_claim_on_one_node_keeps_agents_out_on_another() {
    let Some(team) = Team::new() else { return };
    let (ada, bob) = (team.token("shop", "writer"), team.token("shop", "maintainer"));
    let (first, second) = (team.node("n1"), team.node("n2"));
    let claim = json!({"paths": ["src/auth/"], "reason": "rewriting", "agent_id": "ada"});
    let claimed = first.call(&ada, "claim", claim);
    assert_eq!(claimed["claim"]["agent_id"], "ada", "{claimed}");
    let refused =
        second.call(&bob, "claim", json!({"paths": ["src/auth/jwt.rs"], "agent_id": "bob"}));
    assert_eq!(refused["code"], "CLAIMED", "{refused}");
    let doc = second.get("/acme/shop/v1/claims", &bob).json();
    assert_eq!(doc["version"], 1, "{doc}");
    let late = second.post(
        "/acme/shop/v1/claims",
        &bob,
        &json!({"version": 0, "body": "{\"claims\":[]}"}),
    );
    assert_eq!((late.status, late.json()["error"].clone()), (409, json!("behind")));
}

#[test]
fn without_the_database_reads_go_on_and_writes_wait() {
    let Some(team) = Team::new() else { return };
    let writer = team.token("shop", "writer");
    let mut node = team.node("n1");
    node.call(&writer, "decide", decision("use sqlite"));
    assert_eq!(node.get("/readyz", "").body, "ready");

    team.postgres.kill();
    assert_eq!(summaries(&node, &writer), ["use sqlite"]);
    let refused = node.try_call(&writer, "decide", decision("use redis"));
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    eventually("the node says that it is not ready", || node.get("/readyz", "").status == 503);
    assert_eq!(node.get("/healthz", "").body, "ok");

    team.postgres.restart();
    eventually("the node comes back", || node.get("/readyz", "").status == 200);
    eventually("it writes again", || {
        node.try_call(&writer, "post", json!({"entry_type": "status", "summary": "back"})).status
            == 200
    });
    assert_eq!(node.end(), Some(0));
}

#[test]
fn without_the_database_a_token_is_good_until_it_expires() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "reader");
    let expiry = "update twining.token set expires_at = now() + interval '6 seconds'";
    team.postgres.sql("test0", expiry);
    let node = team.node("n1");
    let ask = || node.try_call(&token, "recent", json!({})).status;
    assert_eq!(ask(), 200);
    team.postgres.kill();
    assert_eq!(ask(), 200);
    eventually("it is refused", || ask() == 401);
}

#[test]
fn a_clone_follows_appends_and_waits_for_lines() {
    let Some(team) = Team::new() else { return };
    let machine = team.token_of("acme", "shop", "writer", "machine");
    let (first, second) = (team.node("n1"), team.node("n2"));
    let line = |key: &str, summary: &str| {
        json!({"key": key, "change": {"entries": [{
            "id": key, "timestamp": "2026-11-01T10:00:00.000Z", "agent_id": "ada",
            "entry_type": "finding", "summary": summary, "scope": "project",
        }]}})
    };
    let append = |base: Value, lines: Value| {
        first.post("/acme/shop/v1/append", &machine, &json!({"base": base, "lines": lines}))
    };
    let (one, two) = ("01M7EB3QY8BCK1T7V2TH9HG8T6", "01M7EB3QY8BCK1T7V2TH9HG8T7");
    assert_eq!(append(json!("any"), json!([line(one, "a")])).json()["seqs"], json!([1]));
    assert_eq!(append(json!("any"), json!([line(one, "a")])).json()["seqs"], json!([1]), "again");
    let other = append(json!("any"), json!([line(one, "b")]));
    assert_eq!((other.status, other.json()["error"].clone()), (409, json!("refused")));
    assert_eq!(append(json!("admit"), json!([line(two, "c")])).json()["seqs"], json!([2]));

    let since = second.get("/acme/shop/v1/since?after=1", &machine).json();
    assert_eq!((&since["head"], &since["lines"][0]["seq"]), (&json!(2), &json!(2)), "{since}");
    let asked = Instant::now();
    let empty = second.get("/acme/shop/v1/since?after=2&wait=1", &machine).json();
    assert_eq!(empty["lines"], json!([]));
    assert!(asked.elapsed() >= Duration::from_secs(1));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| second.get("/acme/shop/v1/since?after=2&wait=30", &machine));
        std::thread::sleep(Duration::from_millis(300));
        first.call(&machine, "post", json!({"entry_type": "status", "summary": "d"}));
        let told = waiting.join().expect("answers").json();
        assert_eq!(told["lines"][0]["seq"], 3, "{told}");
    });
    assert!(asked.elapsed() < Duration::from_secs(20));
    let snapshot = second.get("/acme/shop/v1/snapshot", &machine).json();
    assert_eq!((&snapshot["through"], &snapshot["head"]), (&json!(3), &json!(3)), "{snapshot}");
    let changes = snapshot["changes"].as_array().expect("a list");
    assert_eq!(changes.len(), 1, "three lines are one change: {snapshot}");
    assert_eq!(changes[0]["entries"].as_array().map(Vec::len), Some(3), "{snapshot}");
    let rest = second.get("/acme/shop/v1/snapshot?after=3", &machine).json();
    assert_eq!((&rest["changes"], &rest["through"]), (&json!([]), &json!(3)));
}

#[test]
fn both_eras_of_the_protocol_are_answered() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "reader");
    let node = team.node("n1");
    let legacy = |body: Value, version: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", version),
        ];
        node.request("POST", "/acme/shop/mcp", &token, &headers, &body.to_string())
    };
    let hello = legacy(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        }}),
        "2025-11-25",
    );
    assert_eq!(hello.status, 200, "{hello:?}");
    assert_eq!(hello.json()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello.header("mcp-session-id"), None);
    for body in ["{\"jsonrpc\":", "hello", "[]"] {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let refused = node.request("POST", "/acme/shop/mcp", &token, &headers, body);
        assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid")), "{body}");
    }
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(legacy(initialized, "2025-11-25").status, 202);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let old = legacy(list, "2025-11-25").json();
    let new = node.mcp("/acme/shop/mcp", &token, "tools/list", json!({})).json();
    let names = |answer: &Value| {
        let tools = answer["result"]["tools"].as_array().expect("a list").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&old), names(&new));
    assert!(names(&new).contains(&"twining_why".to_owned()));
    assert!(!names(&new).contains(&"twining_verify".to_owned()), "it needs a working tree");
    let discovered = node.mcp("/acme/shop/mcp", &token, "server/discover", json!({})).json();
    let versions = discovered["result"]["supportedVersions"].as_array().expect("a list");
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    let not_allowed = node.get("/acme/shop/mcp", &token);
    assert_eq!(not_allowed.status, 405);
    let is_said = |(name, value): &(String, String)| name == "allow" && value == "POST";
    assert!(not_allowed.headers.iter().any(is_said), "{not_allowed:?}");
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "twining_why", "arguments": {"scope": "src/"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let mismatch = node.request("POST", "/acme/shop/mcp", &token, &headers, &body.to_string());
    assert_eq!((mismatch.status, &mismatch.json()["error"]["code"]), (400, &json!(-32020)));
}

#[test]
fn a_node_is_seen_and_ends_in_order() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let mut node = team.node("n1");
    node.call(&token, "post", json!({"entry_type": "status", "summary": "here"}));
    node.call(&token, "recent", json!({}));
    let metrics = node.metrics().body;
    assert!(metrics.contains("twining_calls_total{verb=\"post\",outcome=\"ok\"} 1"), "{metrics}");
    assert!(metrics.contains("twining_open_repositories 1"), "{metrics}");
    assert_eq!(node.get("/metrics", &token).status, 404, "only on its own port");
    assert_eq!(node.end(), Some(0));
    let log = node.log();
    let line = log.lines().find(|line| line.contains("\"verb\":\"post\"")).expect("a line");
    let line: Value = serde_json::from_str(line).expect("is JSON");
    assert_eq!(line["tenant"], "acme");
    assert_eq!(line["outcome"], "ok");
    assert!(log.contains("\"event\":\"ended\""), "{log}");
}

/// A checkout that is linked to a node.
fn linked(team: &Team, node: &ServiceNode) -> Project {
    let project = Project::new();
    let token = team.token_of("acme", "shop", "writer", "machine");
    assert_eq!(link(&project, node, "/acme/shop", &token)["linked"], true);
    project
}

/// What `link` answers.
fn link(project: &Project, node: &ServiceNode, path: &str, token: &str) -> Value {
    let address = format!("http://127.0.0.1:{}{path}", node.port);
    let ran = project.run_with(&["link", &address, "--yes", "--json"], &format!("{token}\n"));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// What a command answers that fails.
fn error_of(project: &Project, words: &[&str]) -> Value {
    let ran = project.run(&[words, &["--json"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn what_the_service_refuses_is_neither_synced_nor_out_of_reach() {
    let Some(team) = Team::new() else { return };
    let (node, reader) = (team.node("n1"), team.token("shop", "reader"));
    let clone = Project::new();
    clone.json(&["post", "finding", "before the link"]);
    let answer = link(&clone, &node, "/acme/shop", &reader);
    assert_eq!((&answer["refused"], &answer["synced"]), (&json!(1), &json!(false)), "{answer}");
    let posted = clone.json(&["post", "finding", "mine"]);
    assert_eq!(posted["synced"], false, "{posted}");
    let why = posted["sync_refused"].as_str().expect("a reason");
    assert!(why.contains("`writer`") && why.contains("twining sync refused"), "{why}");
    let said = clone.run(&["post", "finding", "in words"]).stderr;
    assert!(said.contains("refused it") && said.contains("twining sync refused"), "{said}");
    let synced = clone.run(&["sync"]);
    assert_eq!(synced.code, 3, "{synced:?}");
    assert!(synced.stdout.contains("not all"), "{synced:?}");
    let checked = clone.run(&["doctor"]).stdout;
    assert!(checked.contains("everything that was not refused is sent"), "{checked}");
    let claimed = error_of(&clone, &["claim", "src/"]);
    assert_eq!(claimed["code"], "LOG_REFUSED", "{claimed}");
    assert!(!claimed.to_string().contains("cannot be reached"), "{claimed}");
    assert!(claimed["message"].as_str().expect("text").contains("`writer`"), "{claimed}");
    assert!(claimed["hint"].as_str().expect("text").contains("ask an administrator"), "{claimed}");
}

#[test]
fn agents_of_one_name_with_different_tokens_hold_different_claims() {
    let Some(team) = Team::new() else { return };
    let node = team.node("n1");
    let clones = ["agent", "machine"].map(|kind| {
        let (project, token) = (Project::new(), team.token_of("acme", "shop", "writer", kind));
        assert_eq!(link(&project, &node, "/acme/shop", &token)["linked"], true);
        project
    });
    let claimed = clones[0].json(&["claim", "src/"]);
    assert_eq!(claimed["claim"]["principal"], "agent-writer", "{claimed}");
    for words in [&["claim", "src/auth"][..], &["claim", "src/", "--action", "release"]] {
        let refused = error_of(&clones[1], words);
        assert_eq!(refused["code"], "CLAIMED", "{refused}");
        assert!(refused["message"].as_str().expect("text").contains("agent-writer"), "{refused}");
        assert!(refused["hint"].as_str().expect("text").contains("role `maintainer`"), "{refused}");
    }
    let all = clones[1].json(&["claim", "--action", "release"]);
    assert_eq!(all["claims"].as_array().map(Vec::len), Some(1), "{all}");
    // Its own it renews and releases.
    clones[0].json(&["claim", "src/"]);
    let released = clones[0].json(&["claim", "--action", "release"]);
    assert_eq!(released["claims"], json!([]), "{released}");
    clones[1].json(&["claim", "src/auth"]);
}

#[test]
fn a_token_and_an_address_that_are_not_accepted_are_named_with_a_way_forward() {
    let Some(team) = Team::new() else { return };
    let (node, clone) = (team.node("n1"), Project::new());
    let token = team.token("shop", "writer");
    let wrong = link(&clone, &node, "/acme/nothing", &token);
    assert_eq!(wrong["code"], "LOG_DENIED", "{wrong}");
    assert!(wrong["message"].as_str().expect("text").contains("no such repository"), "{wrong}");
    assert!(wrong["hint"].as_str().expect("text").contains("check the address"), "{wrong}");
    let answer = link(&clone, &node, "/acme/shop/mcp", &token);
    assert_eq!(answer["linked"], true, "{answer}");
    // A token that is given whole is ended all the same, and not shown.
    let said = team.admin(&["token", "revoke", &token]).to_string();
    let secret = token.split('_').nth(2).expect("a secret");
    assert!(!said.contains(secret), "{said}");
    let unknown =
        team.command(&["token", "revoke", "twn_nobody_verysecret"]).output().expect("runs");
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(!said.contains("verysecret") && said.contains("--tenant"), "{said}");
    let listed = team.command(&["token", "list", "--tenant", "acme"]).output().expect("runs");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("writer of shop"), "{listed:?}");
    eventually("it is revoked", || node.get("/acme/shop/v1/claims", &token).status == 401);
    for words in [&["sync"][..], &["claim", "src/"], &["sync"]] {
        let denied = error_of(&clone, words);
        assert_eq!(denied["code"], "LOG_DENIED", "{denied}");
        assert!(denied["message"].as_str().expect("text").contains("not accept this token"));
        assert!(denied["hint"].as_str().expect("text").contains("twining link"), "{denied}");
        assert!(!denied.to_string().contains("can be reached"), "{denied}");
    }
    assert_eq!(clone.json(&["post", "finding", "waits"])["synced"], false);
    let warnings = clone.json(&["status"])["warnings"].to_string();
    for words in ["not accept this token", "ask an administrator"] {
        assert!(warnings.contains(words), "{warnings}");
    }
    link(&clone, &node, "/acme/shop", &team.token("shop", "writer"));
    assert_eq!(clone.json(&["post", "finding", "goes on"])["synced"], true);
}

#[test]
fn linked_clones_and_an_agent_without_one_share_a_memory() {
    let Some(team) = Team::new() else { return };
    let agent = team.token("shop", "writer");
    let (mut first, second) = (team.node("n1"), team.node("n2"));
    first.call(&agent, "decide", decision("use sqlite"));
    let (ada, bob) = (linked(&team, &first), linked(&team, &second));
    assert_eq!(ada.json(&["why", "src/cache/"])["decisions"][0]["summary"], "use sqlite");

    ada.json(&["post", "finding", "the cache is cold"]);
    let recent = second.call(&agent, "recent", json!({}));
    assert_eq!(recent["entries"][0]["summary"], "the cache is cold", "{recent}");
    assert_eq!(recent["entries"][0]["origin"]["principal"], "machine-writer");

    first.kill();
    let offline = ada.json(&[
        "decide",
        "use redis",
        "--domain",
        "storage",
        "--scope",
        "src/cache/",
        "--context",
        "c",
        "--rationale",
        "r",
    ]);
    assert_eq!(offline["synced"], json!(false), "{offline}");
    second.call(&agent, "post", json!({"entry_type": "status", "summary": "meanwhile"}));
    let data = team.node_with("n1", &["--listen", &format!("127.0.0.1:{}", first.port)]);
    ada.json(&["sync"]);
    bob.json(&["sync"]);
    let statuses = |project: &Project| {
        let why = project.json(&["why", "src/cache/"]);
        let decisions = why["decisions"].as_array().expect("a list").clone();
        let active = decisions.iter().filter(|decision| decision["status"] == "active").count();
        (decisions.len(), active)
    };
    assert_eq!((statuses(&ada), statuses(&bob)), ((2, 1), (2, 1)));
    assert_eq!(shared_state(ada.path()), shared_state(bob.path()), "signed alike");
    drop(data);
}

#[test]
fn a_tenant_that_holds_what_it_may_takes_no_more_until_its_limit_is_raised() {
    let Some(team) = Team::new() else { return };
    team.admin(&["repo", "add", "acme", "other"]);
    let (writer, of_other) = (team.token("shop", "writer"), team.token("other", "writer"));
    let (first, second) = (team.node("n1"), team.node("n2"));
    let limited = team.admin(&["tenant", "limit", "acme", "--records", "2", "--bytes", "1G"]);
    assert_eq!((&limited["record_limit"], &limited["byte_limit"]), (&json!(2), &json!(1 << 30)));
    let post = |node: &ServiceNode, path: &str, token: &str| {
        let arguments = json!({"entry_type": "finding", "summary": format!("{path} {token}")});
        let params = json!({"name": "twining_post", "arguments": arguments});
        node.mcp(path, token, "tools/call", params).json()["result"]["structuredContent"].clone()
    };
    for (node, path, token) in
        [(&first, "/acme/shop/mcp", &writer), (&second, "/acme/other/mcp", &of_other)]
    {
        let posted = post(node, path, token);
        assert!(posted["id"].is_string(), "{posted}");
    }
    let more = json!({"entry_type": "finding", "summary": "one more"});
    let refused = second.call(&writer, "post", more.clone());
    assert_eq!(refused["code"], "LOG_REFUSED", "{refused}");
    let tenant = team.admin(&["tenant", "list"])["tenants"][0].clone();
    assert_eq!((&tenant["records"], &tenant["record_limit"]), (&json!(2), &json!(2)), "{tenant}");
    let raised = team.admin(&["tenant", "limit", "acme", "--records", "none"]);
    assert_eq!((&raised["record_limit"], &raised["byte_limit"]), (&Value::Null, &json!(1 << 30)));
    let posted = second.call(&writer, "post", more);
    assert!(posted["id"].is_string(), "{posted}");
}

/// Starts the node on the database as it was at the backup; meanwhile others write.
fn restored(team: &Team, mut node: ServiceNode, head: &str, token: &str) -> ServiceNode {
    node.end();
    let lost = format!("delete from twining.log where seq > {head}");
    let ends = format!("head = {head}, planned = least(planned, {head})");
    team.postgres.sql("test0", &format!("{lost}; update twining.repo set {ends}"));
    let node = team.node_with("n1", &["--listen", &format!("127.0.0.1:{}", node.port)]);
    for n in 0..9 {
        node.call(token, "post", json!({"entry_type": "finding", "summary": format!("{n}")}));
    }
    node
}

/// Status and authority of a decision in a clone.
fn standing(clone: &Project, id: &str) -> (String, String) {
    let path = clone.path().join(format!(".twining/decisions/{id}.json"));
    let text = std::fs::read_to_string(path).expect("is there");
    let decision: Value = serde_json::from_str(&text).expect("is JSON");
    let word = |field: &str| decision[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("override_authority"))
}

#[test]
fn after_a_restore_a_clone_sends_nothing_until_it_is_linked_again_and_then_gives_back_what_it_has()
{
    let Some(team) = Team::new() else { return };
    let token = |kind: &str, role: &str| team.token_of("acme", "shop", role, kind);
    let (person, agent) = (token("person", "maintainer"), token("agent", "maintainer"));
    let writer = token("agent", "writer");
    let node = team.node("n1");
    let clones = [&writer, &agent, &person].map(|token| {
        let clone = Project::new();
        link(&clone, &node, "/acme/shop", token);
        clone
    });
    let [of_writer, of_agent, of_person] = &clones;
    let overridden = of_person.decide("use redis", "src/a/");
    let promoted = of_person.decide("use sqlite", "src/b/");
    let doubted = of_person.decide("use files", "src/d/");
    let replaced = of_person.decide("use csv", "src/e/");
    of_person.json(&["reconsider", &promoted, "--why", "is it fast enough?"]);
    let head = team.postgres.sql("test0", "select head from twining.repo");
    of_person.json(&["post", "finding", "lost"]);
    let decided = of_person.decide("use postgres", "src/c/");
    let successor = of_person.json(
        &[
            &["decide", "use parquet", "--domain", "architecture", "--scope", "src/e/"][..],
            &["--why", "r", "--context", "c", "--supersedes", &replaced],
        ]
        .concat(),
    );
    let successor = successor["id"].as_str().expect("an id");
    at_terminal(of_person, &["override", &overridden, "--why", "no more"], "", None);
    of_person.json(&["promote", &promoted, "--why", "it is"]);
    of_person.json(&["reconsider", &doubted, "--why", "is it safe?"]);
    for clone in &clones {
        clone.json(&["sync"]);
        assert_eq!(standing(clone, &overridden), ("overridden".into(), "confirmed".into()));
    }
    let node = restored(&team, node, &head, &person);
    let posted = of_person.json(&["post", "finding", "waits"]);
    assert_eq!(posted["synced"], false, "{posted}");
    assert!(posted["sync_problem"].to_string().contains("restored from a backup"), "{posted}");
    let lines = || node.get("/acme/shop/v1/since?after=0", &person).body;
    assert!(!lines().contains("waits"), "{}", lines());
    let fresh = |node: &ServiceNode| {
        let clone = Project::new();
        link(&clone, node, "/acme/shop", &person);
        clone
    };
    let observer = fresh(&node);
    // A clone without the role gives back no change of a status, and one of an agent's token an
    // override as a claim; that is then there already.
    for (clone, token, refused, told) in [
        (of_writer, &writer, 2, ("active", "")),
        (of_agent, &agent, 0, ("overridden", "claimed")),
        (of_person, &person, 0, ("overridden", "claimed")),
    ] {
        assert_eq!(link(clone, &node, "/acme/shop", token)["refused"], refused);
        observer.json(&["sync"]);
        let (status, authority) = standing(&observer, &overridden);
        assert_eq!((status.as_str(), authority.as_str()), told);
        assert!(lines().contains("\"lost\""), "{}", lines());
        assert_eq!(standing(&observer, &decided).0, "active");
        assert_eq!(standing(&observer, successor).0, "provisional", "it came before");
    }
    assert!(lines().contains("\"waits\""), "{}", lines());
    // Neither a promotion nor a doubt comes back.
    assert_eq!(standing(&observer, &promoted).0, "provisional");
    assert_eq!(standing(&observer, &doubted).0, "active");
    let again = at_terminal(of_person, &["override", &overridden, "--why", "no more"], "", None);
    assert!(again.stdout.contains("overridden and confirmed"), "{again:?}");
    of_person.json(&["promote", successor]);
    // Where a person's clone is linked first, the confirmation and what was replaced come back too.
    let node = restored(&team, node, &head, &person);
    link(of_person, &node, "/acme/shop", &person);
    let confirmed = ("overridden".into(), "confirmed".into());
    let observer = fresh(&node);
    assert_eq!(standing(&observer, &overridden), confirmed);
    assert_eq!(standing(&observer, &replaced).0, "superseded");
    assert_eq!(standing(&observer, successor).0, "active");
}

#[test]
fn a_clone_that_took_the_log_in_as_a_snapshot_notices_a_restore_too() {
    let Some(team) = Team::new() else { return };
    let token = team.token_of("acme", "shop", "maintainer", "person");
    let node = team.node("n1");
    node.call(&token, "post", json!({"entry_type": "finding", "summary": "lost"}));
    let clone = Project::new();
    link(&clone, &node, "/acme/shop", &token);
    let _node = restored(&team, node, "0", &token);
    let posted = clone.json(&["post", "finding", "waits"]);
    assert!(posted["sync_problem"].to_string().contains("restored from a backup"), "{posted}");
}
