//! More attacks on `twining serve`: SQL, other tenants' words, floods, and repositories that are
//! moved meanwhile. The numbers are those of the list of attacks in docs/reference/service.md.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::common::team::{HttpReply, ServiceNode, Team, eventually};
use crate::serve_access::said;

const SQL: &str = "x'); drop table twining.log cascade; --";
const APPEND: &str = "/acme/shop/v1/append";
/// How long a connection that is to be closed may stay open: three times the longest limit.
const CLOSED_WITHIN: Duration = Duration::from_secs(90);

fn finding(summary: &str) -> Value {
    json!({"entry_type": "finding", "summary": summary})
}

/// Calls a tool in some repository: what it answered.
fn call_at(
    node: &ServiceNode,
    path: &str,
    token: &str,
    tool: &str,
    arguments: &Value,
) -> HttpReply {
    let params = json!({"name": format!("twining_{tool}"), "arguments": arguments});
    node.mcp(path, token, "tools/call", params)
}

fn answer(reply: &HttpReply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["result"]["structuredContent"].clone()
}

#[test]
fn t8_sql_is_text_wherever_it_stands() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "maintainer");
    let node = team.node("n1");
    node.call(
        &token,
        "post",
        json!({
            "entry_type": "finding", "summary": SQL, "detail": SQL, "agent_id": "o'brien",
        }),
    );
    // Taken or refused: either is well.
    for field in ["tags", "relates_to", "scope"] {
        let given = if field == "scope" { json!(SQL) } else { json!([SQL]) };
        let status = json!({"entry_type": "status", "summary": "s", field: given});
        node.call(&token, "post", status);
    }
    node.call(
        &token,
        "decide",
        json!({
            "domain": "data", "scope": SQL, "summary": SQL, "context": SQL, "rationale": SQL,
            "constraints": [SQL], "alternatives": [{"option": SQL, "reason_rejected": SQL}],
        }),
    );
    for tool in ["query", "search_decisions"] {
        node.call(&token, tool, json!({"query": SQL}));
    }
    node.call(&token, "claim", json!({"paths": ["src/"], "reason": SQL}));
    let params = json!({
        "name": "twining_post", "arguments": {"entry_type": "status", "summary": "s"},
        "_meta": {"twining/key": SQL},
    });
    let root = [("twining-root", SQL)];
    let reply = node.mcp_with("/acme/shop/mcp", &token, "tools/call", params, &root);
    assert_eq!(reply.status, 200, "{reply:?}");
    for path in ["/acme'--/shop/mcp", "/acme/shop';drop/mcp", "/acme/shop%27--/v1/since"] {
        assert_eq!(node.get(path, &token).status, 404, "{path}");
    }
    assert_eq!(node.get("/acme/shop/v1/since?after=0;drop", &token).status, 400);
    let key = json!({"base": "any", "lines": [{"key": SQL, "change": {}}]});
    assert_eq!(node.post(APPEND, &token, &key).status, 400);
    let forged = format!("twn_{SQL}_x");
    assert_eq!(node.get("/acme/shop/v1/since", &forged).status, 401);
    for words in [vec!["tenant", "add", SQL], vec!["repo", "add", "acme", SQL]] {
        let output = team.command(&words).output().expect("runs");
        assert!(!output.status.success(), "{words:?}");
    }
    let entries = node.call(&token, "recent", json!({}))["entries"].clone();
    let entries = entries.as_array().expect("a list");
    let entry = entries.iter().find(|entry| entry["entry_type"] == "finding").expect("is there");
    assert_eq!((&entry["summary"], &entry["agent_id"]), (&json!(SQL), &json!("o'brien")));
    let lines = team.postgres.sql("test0", "select count(*) from twining.log");
    assert!(lines.parse::<u64>().expect("a number") >= 3, "{lines}");
}

#[test]
fn t11_the_same_words_of_another_tenant_are_neither_found_nor_counted() {
    let Some(team) = Team::new() else { return };
    team.admin(&["tenant", "add", "rival"]);
    team.admin(&["repo", "add", "rival", "shop"]);
    let ours = team.token("shop", "writer");
    let theirs = team.token_of("rival", "shop", "writer", "agent");
    let node = team.node("n1");
    let decision = |summary: &str| {
        json!({
            "domain": "storage", "scope": "src/", "summary": summary,
            "context": "the invoices are slow", "rationale": "it is simple",
        })
    };
    for (path, token, whose) in
        [("/rival/shop/mcp", &theirs, "theirs"), ("/acme/shop/mcp", &ours, "ours")]
    {
        let words = format!("the invoice cache of {whose} is cold");
        answer(&call_at(&node, path, token, "post", &finding(&words)));
        let words = format!("cache the invoices, say {whose}");
        answer(&call_at(&node, path, token, "decide", &decision(&words)));
    }
    let counts = || {
        let status = node.call(&ours, "status", json!({}));
        let counted = [
            "blackboard_entries",
            "active_decisions",
            "open_warnings",
            "graph_entities",
            "registered_agents",
            "active_agents",
        ];
        counted.map(|name| status[name].clone())
    };
    let before = counts();
    // More of theirs, so that a shared count would show.
    for n in 0..5 {
        let words = finding(&format!("invoice {n} was paid twice, cache or not"));
        answer(&call_at(&node, "/rival/shop/mcp", &theirs, "post", &words));
    }
    assert_eq!(counts(), before);
    // The same words again: here it is the first of them.
    let same = node.call(&ours, "post", finding("invoice 0 was paid twice, cache or not"));
    assert!(same["id"].is_string() && same["duplicate_of"].is_null(), "{same}");
    assert!(same["beside"].is_null() && same["note"].is_null(), "{same}");
    for (tool, arguments) in [
        ("query", json!({"query": "invoice cache"})),
        ("search_decisions", json!({"query": "cache the invoices"})),
        ("assemble", json!({"task": "warm the invoice cache", "scope": "src/"})),
        ("summarize", json!({})),
        ("why", json!({"scope": "src/"})),
        ("recent", json!({})),
        ("what_changed", json!({"since": "2026-01-01T00:00:00Z"})),
        ("status", json!({})),
        ("agents", json!({})),
        ("export", json!({})),
    ] {
        let answer = node.call(&ours, tool, arguments);
        assert!(answer["code"].is_null(), "{tool}: {answer}");
        let said = answer.to_string();
        assert!(!said.contains("theirs"), "{tool}: {said}");
        assert!(!said.contains("rival"), "{tool}: {said}");
    }
    let of_ours = node.call(&ours, "recent", json!({}))["entries"].clone();
    // The two findings, and the announcement of the decision.
    assert_eq!(of_ours.as_array().map(Vec::len), Some(3), "{of_ours}");
}

#[test]
fn t12_errors_say_the_same_of_what_is_anothers_and_of_what_is_not_there() {
    let Some(team) = Team::new() else { return };
    team.admin(&["tenant", "add", "rival"]);
    team.admin(&["repo", "add", "rival", "shop"]);
    let token = team.token("shop", "admin");
    let theirs = team.token_of("rival", "shop", "writer", "agent");
    let node = team.node_with("n1", &["--token-rate", "10000", "--tenant-rate", "10000"]);
    // It is open, and has something to tell.
    answer(&call_at(&node, "/rival/shop/mcp", &theirs, "post", &finding("theirs")));
    let deep = "[".repeat(50_000);
    let large = "x".repeat(100_000);
    for token in [token.as_str(), ""] {
        for route in ["mcp", "v1/append", "v1/since?after=x", "v1/snapshot", "v1/claims", "v2"] {
            for method in ["GET", "POST", "DELETE", "OPTIONS", "PUT"] {
                for body in ["", "{}", deep.as_str(), large.as_str()] {
                    let ask = |repo: &str| {
                        said(&node.request(method, &format!("/{repo}/{route}"), token, &[], body))
                    };
                    let there = ask("rival/shop");
                    assert_eq!(there, ask("rival/nothing"), "{method} {route}");
                    assert_eq!(there.0, if token.is_empty() { 401 } else { 404 });
                }
            }
        }
    }
    let headers = [("retry-after", ""), ("x-ratelimit-remaining", ""), ("server", "")];
    let reply = node.get("/rival/shop/v1/claims", &token);
    for (header, _) in headers {
        assert_eq!(reply.header(header), None, "{header}");
    }
}

/// A connection that has sent this and nothing more.
fn begun(node: &ServiceNode, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", node.port)).expect("connects");
    stream.set_read_timeout(Some(CLOSED_WITHIN)).expect("takes a time");
    stream.write_all(sent.as_bytes()).expect("sends");
    stream
}

/// What comes until the other side closes.
fn rest(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    // A reset is an end as well.
    if let Err(error) = stream.read_to_end(&mut said) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is never closed");
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// Allows this process, and those it starts, as many open files as it may have.
fn allow_many_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("may raise it");
    limit.maximum.unwrap_or(u64::MAX)
}

#[test]
fn t19_two_thousand_slow_connections_are_closed_and_others_are_answered_meanwhile() {
    let files = allow_many_files();
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    let count = if files > 5_000 { 2_000 } else { 300 };
    let half = "GET /acme/shop/v1/claims HTTP/1.1\r\nhost: localhost\r\nx-slow: ";
    let slow: Vec<TcpStream> =
        (0..count).map(|n| begun(&node, if n % 2 == 0 { half } else { "" })).collect();
    let body = format!(
        "POST {APPEND} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{{\"base\""
    );
    let slow_body = begun(&node, &body);
    for n in 0..20 {
        node.call(&token, "post", finding(&format!("meanwhile {n}")));
    }
    assert!(rest(slow_body).starts_with("HTTP/1.1 408 "), "a body that does not arrive");
    for (n, stream) in slow.into_iter().enumerate() {
        let said = rest(stream);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{n}: {said}");
    }
    eventually("nothing is left of them", || {
        node.metrics().body.lines().any(|line| line == "twining_connections 1")
    });
}

#[test]
fn t19_bodies_without_end_are_refused_before_they_have_arrived() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    let head = |path: &str, more: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{more}\r\n\r\n"
        )
    };
    // A gigabyte is announced, and a little more than what is taken is sent.
    for (path, limit) in [("/acme/shop/mcp", 1 << 20), (APPEND, 8 << 20)] {
        let sent = head(path, "content-length: 1073741824") + &"x".repeat(limit + 1);
        assert_eq!(node.send(&sent).status, 413, "{path}");
    }
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    let endless = head(APPEND, "transfer-encoding: chunked") + &chunk.repeat(9);
    assert_eq!(node.send(&endless).status, 413);
    let line = r#"{"key":"01M7EB3QY8BCK1T7V2TH9HG8T6","change":{}}"#;
    let lines = vec![line; 1_000_000].join(",");
    let body = format!("{{\"base\":\"any\",\"lines\":[{lines}]}}");
    let million = head(APPEND, &format!("content-length: {}", body.len())) + &body;
    assert_eq!(node.send(&million).status, 413);

    // Nothing is unpacked: what is packed makes no sense.
    let packed = [0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3, 0xed, 0xc1];
    let head = head(APPEND, &format!("content-encoding: gzip\r\ncontent-length: {}", packed.len()));
    let mut stream = begun(&node, &head);
    stream.write_all(&packed).expect("sends");
    assert!(rest(stream).starts_with("HTTP/1.1 400 "));

    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"twining_post","arguments":{{"summary":{deep}}}}}}}"#
    );
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let reply = node.request("POST", "/acme/shop/mcp", &token, &headers, &body);
    assert!((400..500).contains(&reply.status), "{reply:?}");
    node.call(&token, "post", finding("the node is well"));
    let since = node.get("/acme/shop/v1/since", &token).json();
    assert_eq!(since["head"], 1, "none of it was written: {since}");
}

#[test]
fn t20_a_tenant_that_floods_is_limited_and_others_are_answered() {
    let Some(team) = Team::new() else { return };
    team.admin(&["tenant", "add", "rival"]);
    let repositories: Vec<String> = (0..6).map(|n| format!("r{n}")).collect();
    for name in &repositories {
        team.admin(&["repo", "add", "rival", name]);
    }
    let ours = team.token("shop", "writer");
    let theirs: Vec<String> =
        (0..4).map(|_| team.token_of("rival", "*", "writer", "agent")).collect();
    let node = team.node_with("n1", &["--open", "4", "--tenant-rate", "8"]);
    node.call(&ours, "post", finding("before"));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let floods: Vec<_> = theirs
            .iter()
            .flat_map(|token| [token, token])
            .enumerate()
            .map(|(who, token)| {
                let (node, repositories) = (&node, &repositories);
                scope.spawn(move || {
                    let flood = |n: usize| {
                        let path = format!("/rival/{}", repositories[(who + n) % 6]);
                        let mcp = format!("{path}/mcp");
                        let words = finding(&format!("flood {who} {n}"));
                        match n % 4 {
                            0 => call_at(node, &mcp, token, "post", &words),
                            1 => call_at(node, &mcp, token, "query", &json!({"query": "flood"})),
                            2 => call_at(
                                node,
                                &mcp,
                                token,
                                "assemble",
                                &json!({"task": "flood", "scope": "project"}),
                            ),
                            _ => node.get(&format!("{path}/v1/since?after=999&wait=1"), token),
                        }
                    };
                    (0..40).map(|n| flood(n).status).collect::<Vec<u16>>()
                })
            })
            .collect();
        for n in 0..6 {
            let summary = format!("number {n} of many that are written meanwhile");
            let posted = node.try_call(&ours, "post", finding(&summary));
            assert_eq!(posted.status, 200, "{posted:?}");
            assert_eq!(node.try_call(&ours, "recent", json!({})).status, 200);
        }
        floods.into_iter().flat_map(|flood| flood.join().expect("ends")).collect()
    });
    assert!(statuses.contains(&429), "the tenant has a limit: {statuses:?}");
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
}

#[test]
fn t26_while_repositories_are_moved_and_renamed_a_token_gets_its_own_or_nothing() {
    let Some(team) = Team::new() else { return };
    team.admin(&["repo", "add", "acme", "other"]);
    let (ours, theirs) = (team.token("shop", "writer"), team.token("other", "writer"));
    let node = team.node_with("n1", &["--token-rate", "10000", "--tenant-rate", "10000"]);
    let words = |whose: &str, n: usize| finding(&format!("{whose} number {n} of quite a few"));
    for n in 0..5 {
        answer(&call_at(&node, "/acme/shop/mcp", &ours, "post", &words("ours", n)));
        answer(&call_at(&node, "/acme/other/mcp", &theirs, "post", &words("theirs", n)));
    }
    let sql = |statement: &str| team.postgres.sql("test0", statement);
    let looked = |what: &str| {
        for path in ["/acme/shop", "/acme/other", "/acme/moved"] {
            for route in ["v1/snapshot", "v1/since"] {
                let reply = node.get(&format!("{path}/{route}"), &ours);
                assert!([200, 404].contains(&reply.status), "{what}: {reply:?}");
                assert!(!reply.body.contains("theirs"), "{what} {path}: {reply:?}");
                let is_own = reply.status == 404 || reply.body.contains("ours");
                assert!(is_own, "{what} {path}: {reply:?}");
            }
        }
        let folder = team.path(&format!("export of {what}"));
        let to = folder.to_str().expect("is text");
        team.admin(&["export", "--tenant", "acme", "--repo", "shop", "--to", to]);
        let board = std::fs::read_to_string(folder.join(".twining/blackboard.jsonl"));
        board.expect("is there")
    };
    assert!(!looked("nothing").contains("theirs"));

    sql("update twining.repo set state = 'moving' where name = 'other'");
    assert!(!looked("moving").contains("theirs"));
    let waits = call_at(&node, "/acme/other/mcp", &theirs, "post", &words("theirs", 9));
    assert_eq!(waits.status, 503, "{waits:?}");
    let read = call_at(&node, "/acme/other/mcp", &theirs, "recent", &json!({}));
    assert!(answer(&read).to_string().contains("theirs number 4"), "it can still be read");

    sql("update twining.repo set state = 'open', name = 'moved' where name = 'other'");
    assert!(!looked("renaming").contains("theirs"));
    eventually("the old name is gone", || node.get("/acme/other/v1/since", &theirs).status == 404);
    assert_eq!(node.get("/acme/moved/v1/since", &theirs).status, 200, "its token goes with it");

    // The two change names: whoever asks by the name of ours gets ours or nothing.
    sql("update twining.repo set name = 'old' where name = 'shop'");
    sql("update twining.repo set name = 'shop' where name = 'moved'");
    for _ in 0..3 {
        for route in ["v1/snapshot", "v1/since"] {
            let reply = node.get(&format!("/acme/shop/{route}"), &ours);
            assert!(!reply.body.contains("theirs"), "{reply:?}");
        }
    }
    eventually("the name is another's now", || {
        node.get("/acme/shop/v1/since", &ours).status == 404
    });
    assert!(node.get("/acme/old/v1/snapshot", &ours).body.contains("ours"));

    sql("update twining.repo set state = 'closed' where name = 'shop'");
    eventually("a closed one is not there", || {
        said(&node.get("/acme/shop/v1/snapshot", &theirs))
            == said(&node.get("/acme/nothing/v1/snapshot", &theirs))
    });
    assert!(node.get("/acme/old/v1/snapshot", &ours).body.contains("ours"));
}
