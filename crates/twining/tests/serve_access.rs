//! Attacks on `twining serve` by raw requests. The numbers are those of the list of attacks in
//! docs/reference/service.md.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::team::{HttpReply, ServiceNode, Team, eventually};

const MCP: &str = "/acme/shop/mcp";

/// What an answer says, without what differs by the second.
pub(crate) fn said(reply: &HttpReply) -> (u16, Vec<(String, String)>, String) {
    let mut headers = reply.headers.clone();
    headers.retain(|(name, _)| name != "date");
    (reply.status, headers, reply.body.clone())
}

fn post(node: &ServiceNode, token: &str, summary: &str) -> Value {
    node.call(token, "post", json!({"entry_type": "finding", "summary": summary}))
}

#[test]
fn t1_another_tenants_repository_is_not_there() {
    let Some(team) = Team::new() else { return };
    team.admin(&["tenant", "add", "rival"]);
    team.admin(&["repo", "add", "rival", "shop"]);
    team.admin(&["repo", "add", "acme", "secret"]);
    let token = team.token("shop", "admin");
    let node = team.node("n1");
    let everywhere = team.token("*", "admin");
    let nothing = said(&node.mcp("/acme/nothing/mcp", &token, "tools/list", json!({})));
    assert_eq!(nothing.0, 404);
    for token in [&token, &everywhere] {
        assert_eq!(said(&node.mcp("/rival/shop/mcp", token, "tools/list", json!({}))), nothing);
    }
    for path in ["/rival/shop/mcp", "/acme/secret/mcp", "/rival/nothing/mcp", "/nobody/shop/mcp"] {
        assert_eq!(said(&node.mcp(path, &token, "tools/list", json!({}))), nothing, "{path}");
    }
    for route in ["v1/since", "v1/snapshot", "v1/claims"] {
        let reply = node.get(&format!("/rival/shop/{route}"), &token);
        assert_eq!(said(&reply), nothing, "{route}");
    }
}

#[test]
fn t7_without_row_security_the_door_shows_nothing_of_another_tenant() {
    let Some(team) = Team::new() else { return };
    team.admin(&["tenant", "add", "rival"]);
    let theirs = team.token_of("rival", "*", "admin", "agent");
    for table in ["tenant", "repo", "log", "doc", "token", "audit"] {
        let off = format!("alter table twining.{table} disable row level security");
        team.postgres.sql("test0", &off);
    }
    let node = team.node("n1");
    post(&node, &team.token("shop", "writer"), "a secret of acme");
    for route in ["mcp", "v1/since", "v1/snapshot", "v1/claims"] {
        let reply = node.get(&format!("/acme/shop/{route}"), &theirs);
        let nothing = node.get(&format!("/acme/nothing/{route}"), &theirs);
        assert_eq!((reply.status, said(&reply)), (404, said(&nothing)), "{route}");
    }
}

#[test]
fn t2_only_the_path_and_the_token_say_who_and_where() {
    let Some(team) = Team::new() else { return };
    team.admin(&["repo", "add", "acme", "other"]);
    let (token, of_other) = (team.token("shop", "writer"), team.token("other", "reader"));
    let node = team.node("n1");
    let arguments = json!({"entry_type": "finding", "summary": "mine"});
    let params = json!({"name": "twining_post", "arguments": arguments, "tenant": "acme", "repository": "other"});
    let headers = [
        ("x-twining-tenant", "rival"),
        ("x-forwarded-user", "boss"),
        ("x-original-url", "/acme/other/mcp"),
        ("x-forwarded-host", "evil.example"),
    ];
    let reply = node.mcp_with(MCP, &token, "tools/call", params, &headers);
    assert_eq!(reply.status, 200, "{reply:?}");
    let unknown = json!({"entry_type": "finding", "summary": "x", "principal": "boss"});
    assert_eq!(node.call(&token, "post", unknown)["code"], "INVALID_INPUT");
    let of_shop = node.call(&token, "recent", json!({}));
    assert_eq!(of_shop["entries"][0]["origin"]["principal"], "agent-writer", "{of_shop}");
    let reply = node.mcp(
        "/acme/other/mcp",
        &of_other,
        "tools/call",
        json!({"name": "twining_recent", "arguments": {}}),
    );
    let other = reply.json()["result"]["structuredContent"]["entries"].clone();
    assert_eq!(other, json!([]));
    // A name twice in a call that is let in: what the role is looked up for is what is carried out.
    let decision =
        json!({"domain": "d", "scope": "src/", "summary": "s", "context": "c", "rationale": "r"});
    let id = node.call(&token, "decide", decision)["id"].clone();
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let arguments = format!(r#"{{"decision_id":{id},"reason":"no"}}"#);
    for (first, second) in [("trace", "override"), ("override", "trace")] {
        let twice = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{meta},"name":"twining_{first}","name":"twining_{second}","arguments":{arguments}}}}}"#
        );
        for name in [first, second] {
            let name = format!("twining_{name}");
            let headers = [
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", name.as_str()),
            ];
            node.request("POST", MCP, &token, &headers, &twice);
        }
    }
    let key = "01M7EB3QY8BCK1T7V2TH9HG8T6";
    let entry = format!(r#"{{"id":"{key}","entry_type":"finding","summary":"a"}}"#);
    for body in [
        format!(
            r#"{{"base":"admit","base":"any","lines":[{{"key":"{key}","change":{{"entries":[{entry}]}}}}]}}"#
        ),
        format!(
            r#"{{"base":"any","lines":[{{"key":"{key}","change":{{}},"change":{{"entries":[{entry}]}}}}]}}"#
        ),
        format!(
            r#"{{"base":"any","lines":[{{"key":"{key}","key":"{key}","change":{{"entries":[{entry}]}}}}]}}"#
        ),
    ] {
        let headers = [("content-type", "application/json")];
        let reply = node.request("POST", "/acme/shop/v1/append", &token, &headers, &body);
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
    }
    let why = node.call(&token, "why", json!({"scope": "src/"}));
    assert_eq!(why["decisions"][0]["status"], "active", "{why}");
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"twining_post","arguments":{}}}"#;
    let reply =
        node.request("POST", MCP, &of_other, &[("content-type", "application/json")], twice);
    assert_eq!(reply.status, 404, "{reply:?}");
}

#[test]
fn t3_a_path_has_one_form() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    for path in [
        "/acme%2fshop/mcp",
        "/acme/%73hop/mcp",
        "/ACME/shop/mcp",
        "/acme/shop/../shop/mcp",
        "/acme/./shop/mcp",
        "//acme/shop/mcp",
        "/acme/shop/mcp/",
        "/acme/shop//mcp",
        "/acme/shop%00/mcp",
        "/acme/sh%C3%B6p/mcp",
        "/acme/shop/mcp%20",
        "/acme/shop/MCP",
    ] {
        assert_eq!(node.mcp(path, &token, "tools/list", json!({})).status, 404, "{path}");
    }
}

#[test]
fn t4_t5_ids_and_keys_of_one_repository_are_nothing_in_another() {
    let Some(team) = Team::new() else { return };
    team.admin(&["tenant", "add", "rival"]);
    team.admin(&["repo", "add", "rival", "shop"]);
    let mine = team.token("shop", "maintainer");
    let theirs = team.token_of("rival", "shop", "maintainer", "agent");
    let node = team.node("n1");
    let decision = json!({
        "domain": "storage", "scope": "src/", "summary": "theirs",
        "context": "c", "rationale": "r",
    });
    let call = json!({"name": "twining_decide", "arguments": decision});
    let decided = node.mcp("/rival/shop/mcp", &theirs, "tools/call", call).json();
    let id = decided["result"]["structuredContent"]["id"].clone();
    assert!(id.is_string(), "{decided}");
    let found = node.call(&mine, "trace", json!({"decision_id": id}));
    assert_eq!(found["code"], "NOT_FOUND", "{found}");
    let refused = node.call(&mine, "override", json!({"decision_id": id, "reason": "no"}));
    assert_eq!(refused["code"], "NOT_FOUND", "{refused}");
    let of_theirs = |tool: &str, arguments: Value| {
        let params = json!({"name": format!("twining_{tool}"), "arguments": arguments});
        let reply = node.mcp("/rival/shop/mcp", &theirs, "tools/call", params).json();
        reply["result"]["structuredContent"].clone()
    };
    let entry = of_theirs("post", json!({"entry_type": "warning", "summary": "a canary"}));
    let refused = node.call(&mine, "dismiss", json!({"ids": [entry["id"]]}));
    assert_eq!(refused["code"], "NOT_FOUND", "{refused}");
    let read = node.call(&mine, "read", json!({"ids": [entry["id"]]}));
    assert!(!read.to_string().contains("canary"), "{read}");
    let result = json!([{"description": "a canary", "status": "completed"}]);
    let handoff = of_theirs("handoff", json!({"summary": "a canary", "results": result}));
    let refused = node.call(&mine, "acknowledge", json!({"handoff_id": handoff["id"]}));
    assert_eq!(refused["code"], "NOT_FOUND", "{refused}");
    let claim = of_theirs("claim", json!({"paths": ["src/canary/"], "agent_id": "main"}));
    assert!(claim["claim"].is_object(), "{claim}");
    let paths = json!(["src/canary/"]);
    let released =
        node.call(&mine, "claim", json!({"paths": paths, "action": "release", "agent_id": "main"}));
    assert!(released["released"].as_array().is_none_or(Vec::is_empty), "{released}");
    let held = of_theirs("claim", json!({"action": "list"}));
    assert_eq!(held["claims"][0]["paths"], json!(["src/canary"]), "{held}");
    for route in ["v1/claims", "v1/snapshot", "v1/snapshot?after=1", "v1/since"] {
        let own = node.get(&format!("/acme/shop/{route}"), &mine).body;
        assert!(!own.contains("canary") && !own.contains("theirs"), "{route}: {own}");
        assert_eq!(node.get(&format!("/rival/shop/{route}"), &mine).status, 404, "{route}");
    }
    let line = |summary: &str| {
        json!({"base": "any", "lines": [{"key": "01M7EB3QY8BCK1T7V2TH9HG8T6", "change": {
            "entries": [{"id": "01M7EB3QY8BCK1T7V2TH9HG8T6", "entry_type": "finding", "summary": summary}],
        }}]})
    };
    let of_theirs = node.post("/rival/shop/v1/append", &theirs, &line("a"));
    assert_eq!(of_theirs.status, 200, "{of_theirs:?}");
    let of_mine = node.post("/acme/shop/v1/append", &mine, &line("b"));
    assert_eq!(of_mine.json()["seqs"], json!([1]), "t6: no relation to the other tenant's key");
}

#[test]
fn a_token_that_is_issued_into_a_file_is_alone_in_it() {
    let Some(team) = Team::new() else { return };
    let flags = ["--tenant", "acme", "--repo", "shop", "--role", "reader", "--name", "x"];
    let output = team.command(&[&["token", "add"], &flags[..]].concat()).output().expect("runs");
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(stdout.starts_with("twn_") && stdout.lines().count() == 1, "{stdout}");
}

#[test]
fn t13_only_a_whole_and_good_token_in_its_header_opens() {
    let Some(team) = Team::new() else { return };
    let added = team.admin(&[
        "token", "add", "--tenant", "acme", "--repo", "shop", "--role", "reader", "--name", "x",
    ]);
    let (id, token) =
        (added["id"].as_str().expect("an id"), added["token"].as_str().expect("text"));
    let (node, other) = (team.node("n1"), team.node("n2"));
    let ask = |token: &str| node.get("/acme/shop/v1/claims", token).status;
    assert_eq!(ask(token), 200);
    assert_eq!(other.get("/acme/shop/v1/claims", token).status, 200);
    let none = node.get("/acme/shop/v1/claims", "");
    assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer")));
    let wrong = [
        token[..token.len() - 1].to_owned(),
        format!("{token}a"),
        format!("twn_{id}_"),
        format!("twn_{id}"),
        "twn_".to_owned(),
        token.to_uppercase(),
        token.to_lowercase(),
        token.replacen("twn_", "TWN_", 1),
    ];
    for wrong in wrong {
        assert_eq!(said(&node.get("/acme/shop/v1/claims", &wrong)), said(&none), "{wrong}");
    }
    let twice = format!(
        "GET /acme/shop/v1/claims HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    assert_eq!(node.send(&twice).status, 401);
    let path = format!("/acme/shop/v1/claims?access_token={token}");
    assert_eq!(node.get(&path, "").status, 401);
    let cookie = format!("token={token}");
    let headers = [("cookie", cookie.as_str())];
    assert_eq!(node.request("GET", "/acme/shop/v1/claims", "", &headers, "").status, 401);

    team.admin(&["token", "revoke", id]);
    let took = eventually("it is revoked on every node", || {
        ask(token) == 401 && other.get("/acme/shop/v1/claims", token).status == 401
    });
    assert!(took < Duration::from_secs(1), "{took:?}");
    let expired = team.token("shop", "reader");
    team.postgres.sql("test0", "update twining.token set expires_at = now() - interval '1 second'");
    assert_eq!(ask(&expired), 401);
}

#[test]
fn t15_no_token_is_in_logs_metrics_or_replies() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let canary = "ghp_Zq3v9LmN2xRt7Wb5Kc8Yd1Pf4Hj6Sg0AuTeQ";
    let node = team.node("n1");
    let secret = format!("the token is {token} and the key is {canary}");
    let posted = post(&node, &token, &secret);
    assert!(!posted["redacted"].is_null(), "{posted}");
    node.get(&format!("/acme/shop/v1/since?after={token}"), &token);
    node.get(&format!("/{token}/shop/mcp"), &token);
    node.post("/acme/shop/v1/append", &token, &json!({"base": token, "lines": []}));
    node.mcp(MCP, &token, "tools/call", json!({"name": token, "arguments": {"x": canary}}));
    let host = format!("GET / HTTP/1.1\r\nhost: {token}\r\nconnection: close\r\n\r\n");
    node.send(&host);
    let stored = node.call(&token, "recent", json!({})).to_string();
    for (place, text) in [("log", node.log()), ("metrics", node.metrics().body), ("memory", stored)]
    {
        assert!(!text.contains(&token) && !text.contains(canary), "in the {place}: {text}");
        assert!(!text.contains("127.0.0.1"), "an address is in the {place}");
    }
}

#[test]
fn t16_a_call_beyond_the_role_is_refused_and_on_record() {
    let Some(team) = Team::new() else { return };
    let (reader, writer) = (team.token("shop", "reader"), team.token("shop", "writer"));
    let node = team.node("n1");
    let refused = post(&node, &reader, "x");
    assert_eq!(refused["code"], "FORBIDDEN");
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("`writer`")), "{refused}");
    let id = "01M7EB3QY8BCK1T7V2TH9HG8T6";
    for (tool, arguments) in [
        ("override", json!({"decision_id": id, "reason": "r"})),
        ("promote", json!({"decision_ids": [id]})),
        ("archive", json!({})),
        ("reconsider", json!({"decision_id": id, "new_context": "c"})),
        ("prune_graph", json!({"dry_run": false})),
    ] {
        let refused = node.call(&writer, tool, arguments);
        assert_eq!(refused["code"], "FORBIDDEN", "{tool}: {refused}");
    }
    let append = json!({"base": "any", "lines": [{"key": id, "change": {}}]});
    let reply = node.post("/acme/shop/v1/append", &reader, &append);
    assert_eq!((reply.status, reply.json()["error"].clone()), (403, json!("insufficient_scope")));
    // What a linked clone sends is judged by what it does.
    let decided = node.call(
        &writer,
        "decide",
        json!({"domain": "d", "scope": "src/", "summary": "s", "context": "c", "rationale": "r"}),
    );
    let send = |token: &str, base: Value, change: Value| {
        let body = json!({"base": base, "lines": [{"key": id, "change": change}]});
        node.post("/acme/shop/v1/append", token, &body)
    };
    let amended = |set: Value| json!({"amendments": [{"id": decided["id"], "set": set}]});
    let overridden =
        || amended(json!({"status": "overridden", "overridden_by": "me", "override_reason": "no"}));
    let head = node.get("/acme/shop/v1/since", &writer).json()["head"].clone();
    for (base, change) in [
        (json!("admit"), overridden()),
        (json!({"at": head}), overridden()),
        (json!("any"), amended(json!({"status": "provisional"}))),
        (json!("any"), json!({"archived": ["x"]})),
        (json!("any"), json!({"removed_entities": ["x"]})),
        (json!("any"), amended(json!({"rationale": "none"}))),
    ] {
        let reply = send(&writer, base, change);
        assert_eq!((reply.status, &reply.json()["error"]), (403, &json!("insufficient_scope")));
    }
    let maintainer = team.token("shop", "maintainer");
    // A full repository is no question of roles.
    team.admin(&["tenant", "limit", "acme", "--records", "1"]);
    assert_eq!(send(&maintainer, json!("admit"), overridden()).status, 409);
    team.admin(&["tenant", "limit", "acme", "--records", "none"]);
    assert_eq!(send(&maintainer, json!("admit"), overridden()).status, 200);
    let audit = team.admin(&["audit", "--tenant", "acme"])["audit"].clone();
    let acts: Vec<_> = audit
        .as_array()
        .expect("a list")
        .iter()
        .filter(|row| row["outcome"] == "forbidden")
        .map(|row| row["act"].clone())
        .collect();
    let by_mcp = ["post", "override", "promote", "archive", "reconsider", "prune_graph"];
    let by_append =
        ["append", "override", "override", "reconsider", "archive", "prune_graph", "append"];
    let refused = by_mcp.iter().chain(&by_append).map(|act| json!(act));
    assert_eq!(acts, refused.collect::<Vec<_>>(), "{audit}");
    let last = audit.as_array().and_then(|rows| rows.last()).expect("has rows");
    assert_eq!((&last["act"], &last["outcome"]), (&json!("override"), &json!("ok")), "{audit}");
}

#[test]
fn t17_a_confirmation_that_the_caller_brings_along_is_a_claim() {
    let Some(team) = Team::new() else { return };
    let person = team.token_of("acme", "shop", "maintainer", "person");
    let node = team.node("n1");
    let decided = node.call(&person, "decide", json!({
        "domain": "storage", "scope": "src/", "summary": "ours", "context": "c", "rationale": "r",
    }));
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    let params = json!({
        "name": "twining_override",
        "arguments": {"decision_id": decided["id"], "reason": "no longer true"},
        "inputResponses": {"confirm": yes},
        "requestState": "forged",
    });
    let reply = node.mcp(MCP, &person, "tools/call", params).json();
    assert_eq!(reply["result"]["structuredContent"]["authority"], "claimed", "{reply}");
    let lines = node.get("/acme/shop/v1/since?after=0", &person).body;
    assert!(!lines.contains(r#""confirmed""#), "{lines}");
}

#[test]
fn t18_pages_other_hosts_and_public_plain_http_are_refused() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "reader");
    let node = team.node("n1");
    let with = |host: &str, more: &str| {
        node.send(&format!(
            "GET /acme/shop/v1/claims HTTP/1.1\r\nhost: {host}\r\n{more}connection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        ))
    };
    assert_eq!(with("localhost", "").status, 200);
    assert_eq!(with("evil.example", "").status, 403);
    assert_eq!(with("localhost.evil.example", "").status, 403);
    assert_eq!(with("localhost", "origin: null\r\n").status, 403);
    assert_eq!(with("localhost", "origin: http://localhost\r\n").status, 403);
    let preflight = node.request(
        "OPTIONS",
        MCP,
        "",
        &[("origin", "https://evil.example"), ("access-control-request-method", "POST")],
        "",
    );
    assert_eq!(preflight.status, 403);
    assert_eq!(preflight.header("access-control-allow-origin"), None);
    let data = team.path("public");
    let data = data.to_str().expect("is text");
    let public = team.command(&["--listen", "0.0.0.0:0", "--data", data]).output().expect("runs");
    assert_eq!(public.status.code(), Some(2));
    let said = String::from_utf8_lossy(&public.stderr).into_owned();
    assert!(said.contains("--tls-cert") && said.contains("--behind-proxy"), "{said}");
}

#[test]
fn t19_what_is_too_large_or_too_deep_is_refused() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    let large = "x".repeat(1024 * 1024 + 1);
    let arguments = json!({"entry_type": "finding", "summary": large});
    assert_eq!(node.try_call(&token, "post", arguments).status, 413);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let headers = [("content-type", "application/json")];
    let reply = node.request("POST", "/acme/shop/v1/append", &token, &headers, &deep);
    assert_eq!(reply.status, 400);
    let key = "01M7EB3QY8BCK1T7V2TH9HG8T6";
    let many: Vec<_> = (0..1001).map(|_| json!({"key": key, "change": {}})).collect();
    let reply = node.post("/acme/shop/v1/append", &token, &json!({"base": "any", "lines": many}));
    assert_eq!(reply.status, 400);
}

#[test]
fn t20_a_token_that_floods_is_told_to_wait() {
    let Some(team) = Team::new() else { return };
    let (token, other) = (team.token("shop", "reader"), team.token("shop", "reader"));
    let node = team.node("n1");
    let refused = (0..400)
        .map(|_| node.get("/acme/shop/v1/claims", &token))
        .find(|reply| reply.status == 429)
        .expect("has a limit");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(node.get("/acme/shop/v1/claims", &other).status, 200);
}

#[test]
fn t22_what_a_clone_forges_is_overwritten_or_refused() {
    let Some(team) = Team::new() else { return };
    let machine = team.token_of("acme", "shop", "writer", "machine");
    let node = team.node("n1");
    let key = |n: u32| format!("01M7EB3QY8BCK1T7V2TH9HG8T{n}");
    let append = |n: u32, change: Value| {
        let body = json!({"base": "any", "lines": [{"key": key(n), "change": change}]});
        node.post("/acme/shop/v1/append", &machine, &body)
    };
    let forged = append(
        0,
        json!({"entries": [{
            "id": key(0), "timestamp": "2099-01-01T00:00:00.000Z", "entry_type": "finding",
            "summary": "s", "agent_id": "ada", "scope": "project",
            "origin": {"via": "cli", "trust": "human", "principal": "boss"},
        }]}),
    );
    assert_eq!(forged.status, 200, "{forged:?}");
    let entry = node.call(&machine, "recent", json!({}))["entries"][0].clone();
    assert_eq!(entry["origin"]["principal"], "machine-writer", "{entry}");
    assert_eq!(entry["origin"]["trust"], "agent");
    assert!(entry["timestamp"].as_str().is_some_and(|at| at < "2099"), "{entry}");
    let decided = node.call(&machine, "decide", json!({
        "domain": "storage", "scope": "src/", "summary": "ours", "context": "c", "rationale": "r",
    }));
    let id = decided["id"].clone();
    let replaced = append(1, json!({"decisions": [{"id": id, "summary": "theirs"}]}));
    assert_eq!(replaced.json()["error"], "insufficient_scope", "{replaced:?}");
    let overridden =
        append(2, json!({"amendments": [{"id": id, "set": {"status": "overridden"}}]}));
    assert_eq!(overridden.json()["error"], "insufficient_scope", "{overridden:?}");
    let rival = json!({"decisions": [{
        "id": key(5), "timestamp": "2026-11-01T10:00:00.000Z", "agent_id": "ada",
        "domain": "storage", "scope": "src/", "summary": "rival", "context": "c",
        "rationale": "r", "status": "active",
    }]});
    let beyond = json!({"base": {"at": 99}, "lines": [{"key": key(6), "change": rival}]});
    let beyond = node.post("/acme/shop/v1/append", &machine, &beyond);
    assert_eq!(beyond.json()["error"], "refused", "{beyond:?}");
    assert_eq!(append(6, rival).status, 200);
    let outside =
        append(3, json!({"turns": [{"feature": "../..", "task": "t", "number": 1, "text": "x"}]}));
    assert_eq!(outside.json()["error"], "refused", "{outside:?}");
    let of_tree = append(4, json!({"documents": [{"path": ".twining/policy.yml", "text": "x"}]}));
    assert_eq!(of_tree.status, 200, "what is not shared is left out: {of_tree:?}");
    let since = node.get("/acme/shop/v1/since?after=0", &machine).body;
    assert!(!since.contains("policy.yml"), "{since}");
    let why = node.call(&machine, "why", json!({"scope": "src/"}));
    let standing = why["decisions"].as_array().expect("a list").iter();
    let standing: Vec<_> = standing.map(|one| (&one["summary"], &one["status"])).collect();
    assert!(standing.contains(&(&json!("ours"), &json!("active"))), "{why}");
    assert!(standing.contains(&(&json!("rival"), &json!("provisional"))), "{why}");
}

#[test]
fn t22_a_claim_of_another_token_is_neither_taken_away_nor_made() {
    let Some(team) = Team::new() else { return };
    let named = |name: &str, role: &str| {
        let flags = ["--tenant", "acme", "--repo", "shop", "--role", role, "--name", name];
        let token = team.admin(&[&["token", "add"], &flags[..]].concat())["token"].clone();
        token.as_str().expect("a token").to_owned()
    };
    let (ada, bob, kim) =
        (named("ada", "writer"), named("bob", "writer"), named("kim", "maintainer"));
    let node = team.node("n1");
    let claimed = node.call(&ada, "claim", json!({"paths": ["src/"], "agent_id": "main"}));
    assert_eq!(claimed["claim"]["agent_id"], "main", "{claimed}");
    let claims = || node.get("/acme/shop/v1/claims", &bob).json();
    let replace = |token: &str, list: Value| {
        let body =
            json!({"version": claims()["version"], "body": json!({"claims": list}).to_string()});
        node.post("/acme/shop/v1/claims", token, &body)
    };
    let held = || {
        let list = claims()["body"].as_str().map(serde_json::from_str::<Value>);
        list.expect("text").expect("JSON")["claims"].clone()
    };
    let theirs = held()[0].clone();
    let mut forged = theirs.clone();
    forged["id"] = json!("forged");
    let mut altered = theirs.clone();
    altered["until"] = json!("2026-01-01T00:00:00.000Z");
    for list in [json!([altered]), json!([theirs, forged])] {
        let refused = replace(&bob, list);
        assert_eq!((refused.status, &refused.json()["error"]), (403, &json!("insufficient_scope")));
    }
    // A clone whose clock is ahead takes it for over.
    assert_eq!(replace(&bob, json!([])).status, 200);
    assert_eq!(held(), json!([theirs]));
    let mut own = theirs.clone();
    own["id"] = json!("own");
    own["principal"] = Value::Null;
    assert_eq!(replace(&bob, json!([theirs, own])).status, 200);
    assert_eq!((&held()[0], &held()[1]["principal"]), (&theirs, &json!("bob")));
    assert_eq!(replace(&kim, json!([])).status, 200, "a maintainer releases them");
}

#[test]
fn every_refusal_says_what_to_do() {
    let Some(team) = Team::new() else { return };
    let (reader, writer) = (team.token("shop", "reader"), team.token("shop", "writer"));
    let node = team.node_with("n1", &["--token-rate", "1"]);
    let append = "/acme/shop/v1/append";
    let other_host =
        "GET /acme/shop/v1/claims HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    let mut replies = vec![
        node.get("/acme/shop/v1/claims", ""),
        node.get("/acme/nothing/v1/claims", &writer),
        node.send(other_host),
        node.post(append, &reader, &json!({"base": "any", "lines": []})),
        node.post(append, &writer, &json!({"base": "any"})),
    ];
    let flood = (0..300).map(|_| node.get("/acme/shop/v1/claims", &writer));
    replies.extend(flood.into_iter().find(|reply| reply.status == 429));
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [401, 404, 403, 403, 400, 429]);
    for reply in replies {
        assert!(reply.json()["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{reply:?}");
    }
}

/// A server with the login of the guide: it may make roles, owns its database, and is no superuser.
fn team_of_the_guide() -> Option<Team> {
    let team = Team::with_empty_database("twining")?;
    team.postgres.sql("postgres", "create role twining login createrole");
    team.postgres.sql("postgres", "alter database test0 owner to twining");
    Some(team)
}

#[test]
fn the_guides_setup_works_with_a_login_that_is_no_superuser() {
    let Some(team) = team_of_the_guide() else { return };
    team.admin(&["migrate"]);
    team.admin(&["tenant", "add", "acme"]);
    team.admin(&["repo", "add", "acme", "shop"]);
    let token = team.token("shop", "writer");
    let node = team.node("n1");
    assert!(post(&node, &token, "it works")["id"].is_string());
    // Also where it was set up before that was granted.
    team.postgres.sql("postgres", "revoke twining_app from twining");
    assert_eq!(team.command(&["tenant", "list"]).output().expect("runs").status.code(), Some(2));
    team.admin(&["migrate"]);
    team.admin(&["migrate"]);
    assert_eq!(team.admin(&["tenant", "list"])["tenants"][0]["name"], "acme");
}

#[test]
fn a_login_that_cannot_put_on_record_what_it_does_does_nothing() {
    let Some(team) = team_of_the_guide() else { return };
    team.admin(&["migrate"]);
    team.admin(&["tenant", "add", "acme"]);
    team.postgres.sql("postgres", "revoke twining_app from twining");
    let rows = || {
        let count = "select (select count(*) from twining.tenant), (select count(*) from twining.token), (select count(*) from twining.audit)";
        team.postgres.sql("test0", count)
    };
    assert_eq!(rows(), "1|0|1");
    let flags = ["--tenant", "acme", "--repo", "*", "--role", "writer", "--name", "ada"];
    let commands = [vec!["tenant", "add", "rival"], [&["token", "add"], &flags[..]].concat()];
    for words in commands {
        let output = team.command(&words).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("twining_app") && said.contains("serve migrate"), "{said}");
    }
    assert_eq!(rows(), "1|0|1");
}
