//! Running `twining serve`: what its metrics and `/readyz` say, what callers are told when the
//! database is away, and what is the same on every node.

use serde_json::{Value, json};

use crate::common::Project;
use crate::common::team::{HttpReply, ServiceNode, Team, eventually};

fn finding(summary: &str) -> Value {
    json!({"entry_type": "finding", "summary": summary})
}

/// The value of a metric that has no labels.
fn metric(node: &ServiceNode, name: &str) -> f64 {
    let metrics = node.metrics().body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {metrics}"))
}

#[test]
fn commits_and_what_clones_wait_for_are_measured() {
    let Some(team) = Team::new() else { return };
    let machine = team.token_of("acme", "shop", "writer", "machine");
    let node = team.node("n1");
    node.call(&machine, "post", finding("a"));
    node.call(&machine, "post", finding("something else"));
    assert!(metric(&node, "twining_commit_lines_count") >= 2.0);
    assert!(metric(&node, "twining_commit_lines_sum") >= 2.0);
    assert!(metric(&node, "twining_commit_seconds_sum") > 0.0);
    assert!(node.metrics().body.contains("twining_commit_seconds_bucket{le=\"5\"} "));

    assert_eq!(metric(&node, "twining_outbox_age_seconds"), 0.0);
    let reported = [("twining-outbox-age", "75")];
    let asked = node.request("GET", "/acme/shop/v1/since", &machine, &reported, "");
    assert_eq!(asked.status, 200);
    assert_eq!(metric(&node, "twining_outbox_age_seconds"), 75.0);
    eventually("the node has followed", || metric(&node, "twining_lag_seconds") == 0.0);
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_with_what_to_do() {
    let Some(team) = Team::new() else { return };
    std::fs::write(team.path("file"), "").expect("writes");
    let data = team.path("file").join("data").display().to_string();
    let refused = team.command(&["--data", &data, "--json"]).output().expect("runs");
    let answer: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    assert!(answer["message"].as_str().expect("text").contains(&data), "{answer}");
    assert!(answer["hint"].as_str().expect("text").contains("install -d"), "{answer}");
}

/// A linked clone with a change that waited for two seconds, and the node that is back.
fn written_while_the_node_was_down(team: &Team) -> (Project, ServiceNode) {
    let machine = team.token_of("acme", "shop", "writer", "machine");
    let mut node = team.node("n1");
    let address = format!("http://127.0.0.1:{}/acme/shop", node.port);
    let clone = Project::new();
    let ran = clone.run_with(&["link", &address, "--yes"], &format!("{machine}\n"));
    assert_eq!(ran.code, 0, "{ran:?}");
    node.kill();
    clone.json(&["post", "finding", "made offline"]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    let node = team.node_with("n1", &["--listen", &format!("127.0.0.1:{}", node.port)]);
    (clone, node)
}

#[test]
fn the_worker_of_a_linked_clone_tells_how_long_its_changes_waited() {
    let Some(team) = Team::new() else { return };
    let (clone, node) = written_while_the_node_was_down(&team);
    let mut worker = clone.server(&[]);
    worker.initialize();
    eventually("the clone says that something waited", || {
        metric(&node, "twining_outbox_age_seconds") >= 1.0
    });
}

#[test]
fn a_sync_tells_how_long_the_changes_of_its_clone_waited() {
    let Some(team) = Team::new() else { return };
    let (clone, node) = written_while_the_node_was_down(&team);
    assert_eq!(clone.json(&["sync"])["sent"], 1);
    assert!(metric(&node, "twining_outbox_age_seconds") >= 1.0);
}

#[test]
fn a_node_is_not_ready_with_another_schema_or_when_it_falls_behind() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    node.call(&token, "post", finding("a"));
    node.call(&token, "recent", json!({}));
    let ready = || node.get("/readyz", "").body;
    assert_eq!(ready(), "ready");

    let sum = |sql: &str| team.postgres.sql("test0", sql);
    sum("alter table twining.migration add column kept bytea");
    sum("update twining.migration set kept = sum, sum = '\\x00'");
    eventually("another schema is noticed", || ready() == "unready");
    sum("update twining.migration set sum = kept");
    eventually("it is ready again", || ready() == "ready");

    // A line that only a newer program reads: the folder cannot follow past it.
    sum("with head as (update twining.repo set head = head + 1 returning tenant, id, head)
         insert into twining.log (tenant, repo, seq, key, by, v, planned, sum, body)
         select tenant, id, head, '01M7EB3QY8BCK1T7V2TH9HG8T6', 'x', 999, false, '', '{}' from head");
    eventually("it falls behind", || metric(&node, "twining_lag_seconds") > 5.0);
    assert_eq!(ready(), "unready");
    assert_eq!(metric(&node, "twining_ready"), 0.0);
    let recent = node.call(&token, "recent", json!({}));
    assert_eq!(recent["entries"][0]["summary"], "a", "reads go on: {recent}");
    assert!(recent["as_of"].is_string(), "{recent}");
    let refused = node.call(&token, "post", finding("b"));
    assert_eq!(refused["code"], "FORMAT_TOO_NEW", "{refused}");
}

#[test]
fn without_the_database_a_read_says_as_of_when() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    node.call(&token, "post", finding("a"));
    let before = node.call(&token, "recent", json!({}));
    assert_eq!(before["as_of"], Value::Null, "{before}");

    team.postgres.kill();
    let reply = node.try_call(&token, "recent", json!({})).json()["result"].clone();
    let answer = &reply["structuredContent"];
    assert_eq!(answer["entries"][0]["summary"], "a", "{reply}");
    let as_of = answer["as_of"].as_str().expect("says as of when");
    let posted = before["entries"][0]["timestamp"].as_str().expect("a time");
    assert!(as_of >= posted, "{as_of} {posted}");
    let text = reply["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains(as_of), "the text says it too: {text}");
    let refused = node.try_call(&token, "post", finding("b"));
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");

    team.postgres.restart();
    eventually("it answers from the log again", || {
        node.call(&token, "recent", json!({}))["as_of"].is_null()
    });
}

fn decision(summary: &str) -> Value {
    json!({
        "domain": "storage", "scope": "src/cache/", "summary": summary,
        "context": "reads are slow", "rationale": "it is simple",
    })
}

/// Calls a tool under a key of the caller's.
fn keyed(node: &ServiceNode, token: &str, tool: &str, key: &Value, arguments: &Value) -> Value {
    let params = json!({
        "name": format!("twining_{tool}"), "arguments": arguments, "_meta": {"twining/key": key},
    });
    node.mcp("/acme/shop/mcp", token, "tools/call", params).json()
}

#[test]
fn a_write_that_is_sent_again_under_its_key_is_written_once_on_any_node() {
    let Some(team) = Team::new() else { return };
    let (ada, bob) = (team.token("shop", "writer"), team.token("shop", "writer"));
    let nodes = [team.node("n1"), team.node("n2")];
    let status = json!({"entry_type": "status", "summary": "tests pass"});
    let post = |node: usize, token: &str, key: &str| {
        let reply = keyed(&nodes[node], token, "post", &json!(key), &status);
        reply["result"]["structuredContent"].clone()
    };
    let first = post(0, &ada, "call-1");
    assert!(first["id"].is_string() && first["repeated"].is_null(), "{first}");
    for node in [0, 1, 1] {
        let again = post(node, &ada, "call-1");
        assert_eq!((&again["id"], &again["timestamp"]), (&first["id"], &first["timestamp"]));
        assert_eq!(again["repeated"], true, "{again}");
    }
    assert_ne!(post(1, &ada, "call-2")["id"], first["id"], "another key is another call");
    assert_ne!(post(1, &bob, "call-1")["id"], first["id"], "so is another token's");

    // Many at once, on both nodes: one decision.
    let ids: Vec<Value> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|n| {
                let (node, ada) = (&nodes[n % 2], &ada);
                scope.spawn(move || {
                    keyed(node, ada, "decide", &json!("choice"), &decision("use sqlite"))
                })
            })
            .collect();
        let id = |reply: Value| reply["result"]["structuredContent"]["id"].clone();
        calls.into_iter().map(|call| id(call.join().expect("answers"))).collect()
    });
    assert!(ids.iter().all(|id| id.is_string() && *id == ids[0]), "{ids:?}");
    let why = nodes[1].call(&ada, "why", json!({"scope": "src/cache/"}));
    assert_eq!(why["decisions"].as_array().map(Vec::len), Some(1), "{why}");

    let recent = nodes[0].call(&ada, "recent", json!({}));
    let statuses = recent["entries"].as_array().expect("a list").iter();
    assert_eq!(statuses.filter(|entry| entry["entry_type"] == "status").count(), 3, "{recent}");
    for wrong in [json!(""), json!(7), json!("k".repeat(201))] {
        let refused = keyed(&nodes[0], &ada, "post", &wrong, &status);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

#[test]
fn a_decision_made_again_a_moment_later_is_the_first_one() {
    let Some(team) = Team::new() else { return };
    let (ada, bob) = (team.token("shop", "writer"), team.token("shop", "maintainer"));
    let (first, second) = (team.node("n1"), team.node("n2"));
    let decided = first.call(&ada, "decide", decision("use sqlite"));
    let again = second.call(&ada, "decide", decision("use sqlite"));
    assert_eq!(again["id"], decided["id"], "{again}");
    assert_eq!(again["status"], "active");
    let of_bob = second.call(&bob, "decide", decision("use sqlite"));
    assert_ne!(of_bob["id"], decided["id"], "another principal decides for itself");
    let other = second.call(&ada, "decide", decision("use redis"));
    assert_ne!(other["id"], decided["id"]);
    let found = first.call(&ada, "post", finding("the cache is cold"));
    let repeated = first.call(&ada, "post", finding("the cache is cold"));
    assert_eq!(repeated["duplicate_of"], found["id"], "{repeated}");
}

#[test]
fn who_is_at_work_is_the_same_on_every_node() {
    let Some(team) = Team::new() else { return };
    let (token, reader) = (team.token("shop", "writer"), team.token("shop", "reader"));
    let (first, second) = (team.node("n1"), team.node("n2"));
    let as_agent = |name: &str, summary: &str| json!({"entry_type": "status", "summary": summary, "agent_id": name});
    first.call(&token, "post", as_agent("ada", "begun"));
    second.call(&token, "post", as_agent("bob", "begun"));
    // One that only reads is at work too.
    second.call(&reader, "recent", json!({}));
    let names = |node: &ServiceNode| {
        let agents = node.call(&token, "agents", json!({}))["agents"].clone();
        let agents = agents.as_array().expect("a list");
        let mut names: Vec<String> =
            agents.iter().map(|agent| agent["agent_id"].as_str().expect("text").into()).collect();
        names.sort();
        names
    };
    let all = ["ada", "agent-reader", "agent-writer", "bob"];
    for node in [&first, &second] {
        eventually("everybody is seen", || names(node) == all);
    }
}

/// Sends a message of the protocol before 2026-07-28.
fn legacy(node: &ServiceNode, token: &str, session: Option<&str>, body: &Value) -> HttpReply {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    node.request("POST", "/acme/shop/mcp", token, &headers, &body.to_string())
}

#[test]
fn a_session_belongs_to_the_token_that_began_it() {
    let Some(team) = Team::new() else { return };
    team.admin(&["repo", "add", "acme", "other"]);
    let (ada, bob) = (team.token("shop", "writer"), team.token("shop", "writer"));
    let everywhere = team.token("*", "writer");
    let node = team.node_with("n1", &["--sessions"]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    }});
    let begin = |token: &str| {
        let begun = legacy(&node, token, None, &hello);
        assert_eq!(begun.status, 200, "{begun:?}");
        let session = begun.header("mcp-session-id").expect("a session").to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(legacy(&node, token, Some(&session), &ready).status, 202);
        session
    };
    let session = begin(&ada);
    let post = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "twining_post", "arguments": finding("in a session"),
    }});
    let posted = legacy(&node, &ada, Some(&session), &post);
    assert_eq!(posted.status, 200, "{posted:?}");
    assert!(posted.body.contains("structuredContent"), "{posted:?}");

    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let stolen = legacy(&node, &bob, Some(&session), &list);
    let unknown = legacy(&node, &bob, Some("01M7EB3QY8BCK1T7V2TH9HG8T6"), &list);
    assert_eq!((stolen.status, &stolen.body), (404, &unknown.body), "{stolen:?}");
    for method in ["GET", "DELETE"] {
        let headers = [("mcp-session-id", session.as_str()), ("accept", "text/event-stream")];
        let reply = node.request(method, "/acme/shop/mcp", &bob, &headers, "");
        assert_eq!(reply.status, 404, "{method}: {reply:?}");
    }
    let of_shop = begin(&everywhere);
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", of_shop.as_str()),
    ];
    let elsewhere =
        node.request("POST", "/acme/other/mcp", &everywhere, &headers, &list.to_string());
    assert_eq!(elsewhere.status, 404, "a session stays in its repository: {elsewhere:?}");

    let entry = node.call(&ada, "recent", json!({}))["entries"][0].clone();
    assert_eq!(entry["summary"], "in a session", "without a session it is answered as well");
    assert_eq!(legacy(&node, &ada, Some(&session), &list).status, 200);
}
