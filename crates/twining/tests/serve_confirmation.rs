//! Confirmations over HTTP: only a person's yes to a question that the service asked about this
//! very call, and only once. The numbers are those of the list of attacks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Value, json};

use crate::common::Project;
use crate::common::team::{ServiceNode, Team};
use crate::common::terminal::at_terminal;

const MCP: &str = "/acme/shop/mcp";

/// A new decision: the same one again would be answered with the first.
fn decide(node: &ServiceNode, token: &str) -> String {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let summary = format!("ours {}", MADE.fetch_add(1, Ordering::Relaxed));
    let decided = node.call(token, "decide", json!({
        "domain": "storage", "scope": "src/", "summary": summary, "context": "c", "rationale": "r",
    }));
    decided["id"].as_str().unwrap_or_else(|| panic!("{decided}")).to_owned()
}

fn override_of(decision: &str) -> Value {
    json!({"decision_id": decision, "reason": "no longer true"})
}

/// Calls `override` as a client that can ask its person.
fn call(node: &ServiceNode, token: &str, arguments: &Value, answer: Option<&str>) -> Value {
    let mut params = json!({
        "name": "twining_override", "arguments": arguments,
        "_meta": {"capabilities": {"elicitation": {}}},
    });
    if let Some(state) = answer {
        let yes = json!({"action": "accept", "content": {"confirm": true}});
        params["inputResponses"] = json!({"confirm": yes});
        params["requestState"] = json!(state);
    }
    let reply = node.mcp(MCP, token, "tools/call", params);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["result"].clone()
}

/// Asks, and returns the sealed state of the question.
fn ask(node: &ServiceNode, token: &str, arguments: &Value) -> String {
    let asked = call(node, token, arguments, None);
    let question = &asked["inputRequests"]["confirm"]["params"];
    assert!(question["message"].as_str().is_some_and(|text| text.contains("ours")), "{asked}");
    asked["requestState"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
}

fn authority(outcome: &Value) -> &str {
    outcome["structuredContent"]["authority"].as_str().unwrap_or_else(|| panic!("{outcome}"))
}

/// How the overrides went, as the audit has them.
fn audited(team: &Team) -> Vec<String> {
    let audit = team.admin(&["audit", "--tenant", "acme"])["audit"].clone();
    let rows = audit.as_array().expect("a list").iter();
    let of_overrides = rows.filter(|row| row["act"] == "override");
    of_overrides.map(|row| row["outcome"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_persons_yes_to_our_question_confirms_on_any_node_and_once() {
    let Some(team) = Team::new() else { return };
    let person = team.token_of("acme", "shop", "maintainer", "person");
    let (first, second) = (team.node("n1"), team.node("n2"));
    let arguments = override_of(&decide(&first, &person));
    let state = ask(&first, &person, &arguments);
    let mut other_order = serde_json::Map::new();
    for field in ["reason", "decision_id"] {
        other_order.insert(field.to_owned(), arguments[field].clone());
    }
    let done = call(&second, &person, &Value::Object(other_order), Some(&state));
    assert_eq!(authority(&done), "confirmed");
    let lines = first.get("/acme/shop/v1/since?after=0", &person).body;
    assert!(lines.contains(r#""override_authority":"confirmed""#), "{lines}");
    // T17: replayed.
    call(&first, &person, &arguments, Some(&state));
    assert_eq!(audited(&team), ["confirmed", "ok"]);
}

#[test]
fn a_person_who_declines_changes_nothing() {
    let Some(team) = Team::new() else { return };
    let person = team.token_of("acme", "shop", "maintainer", "person");
    let node = team.node("n1");
    let arguments = override_of(&decide(&node, &person));
    let state = ask(&node, &person, &arguments);
    let params = json!({
        "name": "twining_override", "arguments": arguments, "requestState": state,
        "inputResponses": {"confirm": {"action": "decline"}},
        "_meta": {"capabilities": {"elicitation": {}}},
    });
    let declined = node.mcp(MCP, &person, "tools/call", params).json()["result"].clone();
    assert_eq!(declined["structuredContent"]["code"], "DECLINED", "{declined}");
    let why = node.call(&person, "why", json!({"scope": "src/"}));
    assert_eq!(why["decisions"][0]["status"], "active", "{why}");
}

#[test]
fn an_agent_is_not_asked_and_its_yes_is_a_claim() {
    let Some(team) = Team::new() else { return };
    let (agent, machine) = (
        team.token_of("acme", "shop", "maintainer", "agent"),
        team.token_of("acme", "shop", "admin", "machine"),
    );
    let node = team.node("n1");
    for token in [&agent, &machine] {
        let done = call(&node, token, &override_of(&decide(&node, token)), None);
        assert_eq!(authority(&done), "claimed");
        let done = call(&node, token, &override_of(&decide(&node, token)), Some("forged"));
        assert_eq!(authority(&done), "claimed");
    }
}

#[test]
fn a_client_that_cannot_ask_or_is_of_an_earlier_protocol_leaves_a_claim() {
    let Some(team) = Team::new() else { return };
    let person = team.token_of("acme", "shop", "maintainer", "person");
    let node = team.node("n1");
    let done = node.call(&person, "override", override_of(&decide(&node, &person)));
    assert_eq!(done["authority"], "claimed", "{done}");
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let arguments = override_of(&decide(&node, &person));
    let state = ask(&node, &person, &arguments);
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "twining_override", "arguments": arguments, "requestState": state,
        "inputResponses": {"confirm": yes},
    }});
    let done = node.request("POST", MCP, &person, &headers, &body.to_string()).json();
    assert_eq!(done["result"]["structuredContent"]["authority"], "claimed", "{done}");
}

#[test]
fn t5_a_question_to_one_principal_is_answered_by_no_other() {
    let Some(team) = Team::new() else { return };
    let person = team.token_of("acme", "shop", "maintainer", "person");
    let (other, agent) = (
        team.token_of("acme", "shop", "maintainer", "person"),
        team.token_of("acme", "shop", "maintainer", "agent"),
    );
    team.admin(&["tenant", "add", "rival"]);
    team.admin(&["repo", "add", "rival", "shop"]);
    let theirs = team.token_of("rival", "shop", "maintainer", "person");
    let node = team.node("n1");
    for thief in [&other, &agent] {
        let arguments = override_of(&decide(&node, &person));
        let state = ask(&node, &person, &arguments);
        assert_eq!(authority(&call(&node, thief, &arguments, Some(&state))), "claimed");
    }
    let reply = node.mcp(
        "/rival/shop/mcp",
        &theirs,
        "tools/call",
        json!({
            "name": "twining_override",
            "arguments": override_of(&decide(&node, &person)),
            "requestState": ask(&node, &person, &override_of(&decide(&node, &person))),
            "inputResponses": {"confirm": {"action": "accept", "content": {"confirm": true}}},
            "_meta": {"capabilities": {"elicitation": {}}},
        }),
    );
    let refused = reply.json()["result"]["structuredContent"].clone();
    assert_eq!(refused["code"], "NOT_FOUND", "{refused}");
    assert_eq!(audited(&team), ["ok", "ok"]);
}

#[test]
fn t17_a_state_that_is_forged_altered_of_another_call_or_too_old_leaves_a_claim() {
    let Some(team) = Team::new() else { return };
    let person = team.token_of("acme", "shop", "maintainer", "person");
    let node = team.node("n1");
    let answered = |state: &dyn Fn(&Value) -> String| {
        let arguments = override_of(&decide(&node, &person));
        let state = state(&arguments);
        authority(&call(&node, &person, &arguments, Some(&state))).to_owned()
    };
    assert_eq!(answered(&|_| "forged".to_owned()), "claimed");
    assert_eq!(answered(&|_| String::new()), "claimed");
    let with_other_key = |arguments: &Value| {
        let options = SealOptions::new().ttl(Duration::from_secs(60));
        let context = context(&team, &person, arguments);
        let options = options.associated_data(&context);
        RequestStateCodec::try_new([7; 32]).expect("a key").seal_with(b"n", &options)
    };
    assert_eq!(answered(&with_other_key), "claimed");
    let altered = |arguments: &Value| {
        let state = ask(&node, &person, arguments);
        let last = if state.ends_with('A') { 'B' } else { 'A' };
        format!("{}{last}", &state[..state.len() - 1])
    };
    assert_eq!(answered(&altered), "claimed");
    let of_another_reason = |arguments: &Value| {
        let mut other = arguments.clone();
        other["reason"] = json!("another one");
        ask(&node, &person, &other)
    };
    assert_eq!(answered(&of_another_reason), "claimed");
    // With the right key and context it is the time alone that counts.
    let key = team.postgres.sql("test0", "select encode(seal_key, 'hex') from twining.tenant");
    let key: Vec<u8> = (0..key.len() / 2)
        .map(|at| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).expect("a byte"))
        .collect();
    let sealed_for = |time: Duration| {
        let key = key.clone();
        move |team: &Team, person: &str, arguments: &Value| {
            let context = context(team, person, arguments);
            let options = SealOptions::new().associated_data(&context).ttl(time);
            let nonce = "0123456789abcdef0123456789abcdef";
            RequestStateCodec::try_new(key.clone())
                .expect("a key")
                .seal_with(nonce.as_bytes(), &options)
        }
    };
    let (ended, good) = (sealed_for(Duration::ZERO), sealed_for(Duration::from_secs(60)));
    assert_eq!(answered(&|arguments| ended(&team, &person, arguments)), "claimed");
    assert_eq!(answered(&|arguments| good(&team, &person, arguments)), "confirmed");
}

/// What a seal is bound to, as the service has it.
fn context(team: &Team, token: &str, arguments: &Value) -> Vec<u8> {
    let mut sorted = arguments.clone();
    sorted.sort_all_objects();
    let sum = format!("select encode(sha256(convert_to('{sorted}', 'UTF8')), 'hex')");
    let id = |sql: &str| team.postgres.sql("test0", sql);
    let parts = [
        token.split('_').nth(1).expect("an id").to_owned(),
        id("select id from twining.tenant"),
        id("select id from twining.repo"),
        "twining_override".to_owned(),
        id(&sum),
        String::new(),
    ];
    parts.iter().map(|part| format!("{}:{part}", part.len())).collect::<String>().into_bytes()
}

#[test]
fn an_override_in_a_clone_is_confirmed_with_a_persons_token_alone_and_the_reply_says_so() {
    let Some(team) = Team::new() else { return };
    let node = team.node("n1");
    let clone = Project::new();
    let link = |kind: &str| {
        let token = team.token_of("acme", "shop", "maintainer", kind);
        let address = format!("http://127.0.0.1:{}/acme/shop", node.port);
        let ran = clone.run_with(&["link", &address, "--yes"], &format!("{token}\n"));
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    link("agent");
    let id = clone.decide("use redis", "src/");
    let by_person = || at_terminal(&clone, &["override", &id, "--why", "no more"], "", None);
    let waits = || clone.json(&["waiting", "--kind", "claimed_override"])["items"].clone();
    for told in ["overridden: use redis", "already overridden: use redis"] {
        let ran = by_person();
        assert!(ran.stdout.contains(told), "{ran:?}");
        assert!(ran.stdout.contains("serve token add --kind person"), "{ran:?}");
        assert!(waits()[0]["why_you"].to_string().contains("--kind person"), "{}", waits());
        let warned = clone.json(&["status"])["warnings"].to_string();
        assert!(warned.contains("--kind person"), "{warned}");
    }
    link("person");
    assert!(by_person().stdout.contains("overridden and confirmed: use redis"));
    assert_eq!(waits(), json!([]));
    clone.json(&["sync"]);
    assert_eq!(waits(), json!([]));
    assert_eq!(clone.json(&["status"])["warnings"], json!([]));
}
