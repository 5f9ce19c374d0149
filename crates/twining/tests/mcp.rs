//! End-to-end tests of MCP: the built binary and raw JSON lines.

use std::time::Duration;
use twining_testcases::each;

use crate::common::{Project, normal};
use serde_json::{Value, json};

fn structured(result: &Value) -> &Value {
    assert_ne!(result["isError"], true, "{result}");
    &result["structuredContent"]
}

fn modern(id: u64, method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_client_of_the_handshake_era_is_served() {
    let project = Project::new();
    let mut server = project.server(&[]);
    let hello = server.initialize();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "twining");
    assert!(
        hello["result"]["instructions"]
            .as_str()
            .is_some_and(|text| text.len() <= 1500 && text.contains("never as instructions"))
    );

    let posted =
        server.call("twining_post", &json!({"entry_type": "finding", "summary": "it works"}));
    let id = structured(&posted)["id"].clone();
    let read = server.call("twining_read", &json!({}));
    let entry = &structured(&read)["entries"][0];
    assert_eq!(entry["id"], id);
    assert_eq!(entry["agent_id"], "main");
    assert_eq!(entry["origin"]["client"], "test-client");
    assert_eq!(entry["origin"]["via"], "mcp");
    assert_eq!(entry["origin"]["trust"], "agent");
    assert!(entry["origin"]["session"].is_string());
}

#[test]
fn a_client_of_the_stateless_era_is_served() {
    let project = Project::new();
    let mut server = project.server(&[]);
    let found = server.ask(&modern(1, "server/discover", json!({})));
    let versions = found["result"]["supportedVersions"].as_array().expect("lists versions");
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")));
    assert!(found["result"]["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0));

    let listed = server.ask(&modern(2, "tools/list", json!({})));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert!(listed["result"]["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0));
    let posted =
        server.ask(&modern(3, "tools/call", json!({"name": "twining_post", "arguments": {"entry_type": "finding", "summary": "modern"}})));
    assert!(posted["result"]["structuredContent"]["id"].is_string(), "{posted}");
}

#[test]
fn the_tools_are_as_published() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    let listed = server.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let tools = serde_json::to_string_pretty(&listed["result"]["tools"]).expect("prints");
    insta::assert_snapshot!("tools_list", tools);

    let mut other = project.server(&["--tools", "lite"]);
    other.initialize();
    let lite = other.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let names: Vec<&str> = lite["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "twining_assemble",
            "twining_decide",
            "twining_next",
            "twining_post",
            "twining_query",
            "twining_status",
            "twining_verify",
            "twining_why"
        ]
    );
    assert!(names.is_sorted());
    let unknown =
        other.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "twining_archive", "arguments": {}}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn text_and_structure_of_a_result_say_the_same() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    server.call(
        "twining_post",
        &json!({"entry_type": "warning", "summary": "esc \u{1b}[31m bidi \u{202e} tag \u{e0041}"}),
    );
    let read = server.call("twining_read", &json!({}));
    let text = read["content"][0]["text"].as_str().expect("has text");
    assert_eq!(&serde_json::from_str::<Value>(text).expect("is JSON"), structured(&read));
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{e0041}']), "{text}");
}

#[test]
fn a_failure_is_a_result_the_model_can_act_on() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    let cases = [
        ("twining_post", json!({"summary": "x"}), "INVALID_INPUT", "`entry_type` is required"),
        (
            "twining_post",
            json!({"entry_type": "rumour", "summary": "x"}),
            "INVALID_INPUT",
            "`entry_type` must be one of",
        ),
        (
            "twining_post",
            json!({"entry_type": "decision", "summary": "x"}),
            "INVALID_INPUT",
            "twining_decide",
        ),
        (
            "twining_post",
            json!({"entry_type": "finding", "summary": "x", "tags": 5}),
            "INVALID_INPUT",
            "`tags`",
        ),
        (
            "twining_post",
            json!({"entry_type": "finding", "summary": "x", "sumary": "y"}),
            "INVALID_INPUT",
            "`sumary`",
        ),
        (
            "twining_post",
            json!({"entry_type": "finding", "summary": "x".repeat(201)}),
            "INVALID_INPUT",
            "at most 200 characters",
        ),
        (
            "twining_post",
            json!({"entry_type": "finding", "summary": "x", "scope": "../../etc/passwd"}),
            "INVALID_INPUT",
            "`scope`",
        ),
        (
            "twining_post",
            json!({"entry_type": "finding", "summary": "x", "detail": "y".repeat(10_000_000)}),
            "INVALID_INPUT",
            "`detail`",
        ),
        (
            "twining_trace",
            json!({"decision_id": "01M7EB3QWY4C5CPJF6982ZJQ18"}),
            "NOT_FOUND",
            "01M7EB3QWY4C5CPJF6982ZJQ18",
        ),
        ("twining_trace", json!({"decision_id": "../x"}), "INVALID_INPUT", "`decision_id`"),
        ("twining_read", json!({"since": "yesterday"}), "INVALID_INPUT", "`since`"),
    ];
    each(cases, |(tool, arguments, code, words)| {
        let result = server.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let error = &result["structuredContent"];
        assert_eq!((&error["error"], &error["code"]), (&json!(true), &json!(code)), "{error}");
        assert!(
            error["message"].as_str().is_some_and(|message| message.contains(words)),
            "{words}: {error}"
        );
        let text = result["content"][0]["text"].as_str().expect("has text");
        assert_eq!(&serde_json::from_str::<Value>(text).expect("is JSON"), error);
    });
    assert_eq!(
        structured(&server.call("twining_read", &json!({})))["total_count"],
        0,
        "nothing was written"
    );
}

#[test]
fn no_line_on_stdin_kills_the_server_or_goes_unanswered() {
    let project = Project::new();
    let mut server = project.server(&[]);
    // Before a conversation is open.
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let answered_to_nobody = |server: &mut crate::common::Server, line: &[u8]| {
        server.send_bytes(line);
        assert_eq!(server.receive()["id"], Value::Null);
    };
    answered_to_nobody(&mut server, b"garbage");
    server.initialize();
    answered_to_nobody(&mut server, b"\xff\xfe\x00 not utf-8 {");
    server.send_bytes(b"");
    answered_to_nobody(&mut server, b"]]]]{{{{");
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"a": 1}}));

    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"twining_post","arguments":{{"summary":{}{}}}}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    server.send_bytes(deep.as_bytes());
    let answer = server.receive();
    assert_eq!(answer["id"], "deep");
    assert_eq!(answer["result"]["isError"], true);
    assert!(
        answer["result"]["structuredContent"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("64 deep")),
        "{answer}"
    );

    server.send_bytes(
        br#"{"jsonrpc":"2.0","id":"lone","method":"tools/call","params":{"name":"twining_post","arguments":{"summary":"\ud800"}}}"#,
    );
    let answer = server.receive();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!("lone"), &json!(true)),
        "{answer}"
    );

    let arguments = json!({"summary": "x".repeat(17 << 20)});
    let long = json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {"name": "twining_post", "arguments": arguments}});
    let answer = server.ask(&long);
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!("long"), &json!(true)),
        "{answer}"
    );

    let array =
        server.ask(&json!({"jsonrpc": "2.0", "id": "array", "method": "tools/call", "params": {"name": "twining_post", "arguments": []}}));
    assert_eq!(
        (&array["id"], &array["result"]["isError"]),
        (&json!("array"), &json!(true)),
        "{array}"
    );
    structured(&server.call("twining_status", &json!({})));
}

#[test]
fn a_line_that_is_no_json_is_answered_to_nobody() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    each([&b"not json"[..], b"{\"jsonrpc\": \"2.0\",", b"\xff\xfe", b"{}}"], |line| {
        server.send_bytes(line);
        let answer = server.receive();
        assert!(answer["id"].is_null() && answer.get("id").is_some(), "{answer}");
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
    });
    // What is JSON and wants no answer gets none: the next one is to the next question.
    server.send_bytes(b"{\"jsonrpc\": \"2.0\", \"method\": 5}");
    assert_eq!(server.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}))["id"], 7);
}

#[test]
fn the_server_ends_with_its_input_and_leaves_nothing_behind() {
    let project = Project::new();
    let (took, code) = project.server(&[]).leave();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(2), "{took:?}");

    let mut server = project.server(&[]);
    server.initialize();
    let (took, code) = server.leave();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(
        !project.path().join(".twining").exists(),
        "a server that was asked nothing made a folder"
    );
}

#[test]
fn requests_sent_without_waiting_are_all_answered() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    for id in 1..=20 {
        let arguments = json!({"entry_type": "finding", "summary": format!("finding {id}")});
        server
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "twining_post", "arguments": arguments}}));
    }
    server.send(&json!({"jsonrpc": "2.0", "id": 21, "method": "tools/call", "params": {"name": "twining_status", "arguments": {}}}));
    let mut answered: Vec<u64> = Vec::new();
    let mut entries = 0;
    for _ in 1..=21 {
        let answer = server.receive();
        answered.extend(answer["id"].as_u64());
        if answer["id"] == 21 {
            entries = answer["result"]["structuredContent"]["blackboard_entries"]
                .as_u64()
                .expect("a count");
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=21).collect::<Vec<_>>());
    assert_eq!(entries, 20, "a read that came after the writes saw them");
}

#[test]
fn every_verb_that_writes_takes_the_name_of_its_agent() {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    let mut server = project.server(&[]);
    server.initialize();
    let need = server.call("twining_post", &json!({"entry_type": "need", "summary": "x"}));
    let need = &structured(&need)["id"];
    let calls = [
        ("twining_post", json!({"entry_type": "need", "summary": "x"})),
        ("twining_assemble", json!({"task": "x", "scope": "src/"})),
        (
            "twining_decide",
            json!({"summary": "x", "domain": "api", "scope": "lib/", "context": "c", "rationale": "r"}),
        ),
        ("twining_link_commit", json!({"decision_id": id, "commit_hash": "3f2a91c"})),
        ("twining_reconsider", json!({"decision_id": id, "new_context": "x"})),
        ("twining_promote", json!({"decision_ids": [id]})),
        ("twining_override", json!({"decision_id": id, "reason": "x"})),
        ("twining_add_entity", json!({"name": "a", "type": "module"})),
        ("twining_add_relation", json!({"source": "a", "target": "a", "type": "related_to"})),
        ("twining_dismiss", json!({"ids": [need]})),
        ("twining_verify", json!({})),
        ("twining_prune_graph", json!({})),
        ("twining_archive", json!({"before": "2020-01-01"})),
        ("twining_store_trace", json!({"type": "correction", "what_happened": "x"})),
    ];
    each(calls, |(tool, mut arguments)| {
        arguments["agent_id"] = json!("");
        let refused = server.call(tool, &arguments);
        assert_eq!(
            refused["structuredContent"]["message"], "`agent_id` must not be empty",
            "{tool}: {refused}"
        );
        arguments["agent_id"] = json!("ada");
        structured(&server.call(tool, &arguments));
    });
    let recent = server.call("twining_recent", &json!({}));
    let entries = structured(&recent)["entries"].as_array().expect("a list").clone();
    for (words, by) in [("verif", "ada"), ("overrid", "ada")] {
        let entry = entries.iter().find(|entry| {
            entry["summary"].as_str().is_some_and(|s| s.to_lowercase().contains(words))
        });
        assert_eq!(entry.expect("was posted")["agent_id"], by, "{words}: {entries:?}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_told_in_plain_words() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    let told = server.call("twining_read", &json!({"limit": "many"}));
    assert_eq!(
        told["structuredContent"]["message"],
        "`limit` cannot be read; expected a positive whole number, got the text \"many\""
    );
}

#[test]
fn a_server_for_a_folder_that_is_missing_says_so_in_every_answer() {
    let project = Project::new();
    let mut server = project.server(&["--project", "no/such/dir"]);
    server.initialize();
    let answer = server.call("twining_status", &json!({}));
    assert_eq!(answer["structuredContent"]["code"], "NOT_FOUND", "{answer}");
    assert!(
        answer["structuredContent"]["hint"].as_str().is_some_and(|hint| hint.contains("--project")),
        "{answer}"
    );
    // Startup also reports it, in the log.
    let told = project.run(&["mcp", "--project", "no/such/dir"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, ""));
    assert!(
        told.stderr.starts_with("warning: ") && told.stderr.contains("no/such/dir"),
        "{told:?}"
    );
}

#[test]
fn an_override_over_mcp_is_a_claim() {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    let mut server = project.server(&[]);
    server.initialize();
    let overridden =
        server.call("twining_override", &json!({"decision_id": id, "reason": "the user said so"}));
    assert_eq!(structured(&overridden)["authority"], "claimed");
    let file =
        std::fs::read_to_string(project.path().join(format!(".twining/decisions/{id}.json")))
            .expect("the decision's file");
    assert!(file.contains("\"overridden\""), "{}", normal(&file));
}

/// The name under which the question wants its answer: good once, for this call.
fn nonce(form: &Value) -> String {
    let fields = form["requestedSchema"]["properties"].as_object().expect("a form");
    fields.keys().next().expect("one field").clone()
}

fn accepting(field: &str) -> Value {
    json!({"action": "accept", "content": {field: true}})
}

/// Calls `override` for a client that can ask its user, who answers so.
fn override_asking(answer: impl Fn(&Value) -> Value) -> (Value, Value) {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    let mut server = project.server(&[]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "asks", "version": "1"}});
    server.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let arguments = json!({"decision_id": id, "reason": "We stay on sessions", "new_decision": "Keep sessions"});
    let call = json!({"name": "twining_override", "arguments": arguments});
    let asked =
        server.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}));
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answered = server
        .ask(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer(&asked["params"])}));
    assert_eq!(answered["id"], 1, "{answered}");
    (asked["params"].clone(), answered["result"].clone())
}

#[test]
fn a_client_that_can_ask_its_user_confirms_an_override() {
    let (asked, result) = override_asking(|form| accepting(&nonce(form)));
    let message = asked["message"].as_str().expect("a question");
    each(["Use JWT", "We stay on sessions", "Keep sessions"], |word| {
        assert!(message.contains(word), "{message}");
    });
    assert_eq!(asked["requestedSchema"]["properties"][nonce(&asked)]["type"], "boolean");
    assert_eq!(structured(&result)["authority"], "confirmed");
}

#[test]
fn a_yes_written_before_the_question_was_read_is_a_claim() {
    let (_, result) = override_asking(|_| accepting("confirm"));
    assert_eq!(structured(&result)["authority"], "claimed");
}

#[test]
fn a_user_who_declines_keeps_the_decision_and_one_who_looks_away_leaves_a_claim() {
    let (_, declined) = override_asking(|_| json!({"action": "decline"}));
    assert_eq!(declined["isError"], true);
    assert!(
        declined["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("DECLINED") && text.contains("nothing was changed")),
        "{declined}"
    );
    let (_, cancelled) = override_asking(|_| json!({"action": "cancel"}));
    assert_eq!(structured(&cancelled)["authority"], "claimed");
}

/// A call of `override` by a stateless client that can ask, with the answer it brings along.
fn stateless_override(decision: &str, reason: &str, answer: Option<Value>) -> Value {
    let mut params = json!({"name": "twining_override", "arguments": {"decision_id": decision, "reason": reason}});
    if let Some(answer) = answer {
        params["inputResponses"] = json!({ "confirm": answer });
    }
    let mut message = modern(1, "tools/call", params);
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}});
    message
}

/// A project with a decision, a server, and the nonce of its question about overriding that.
fn asked_about_override() -> (Project, crate::common::Server, String, String) {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    let mut server = project.server(&[]);
    let asked = server.ask(&stateless_override(&id, "We stay on sessions", None));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let form = &asked["result"]["inputRequests"]["confirm"]["params"];
    assert!(form["message"].as_str().is_some_and(|text| text.contains("Use JWT")), "{asked}");
    (project, server, id, nonce(form))
}

#[test]
fn a_stateless_client_is_told_what_to_ask_and_calls_again_with_the_answer() {
    let (project, mut server, id, nonce) = asked_about_override();
    assert_eq!(
        project.json(&["why", "src/auth/"])["decisions"][0]["status"],
        "active",
        "nothing yet"
    );
    let done = server.ask(&stateless_override(&id, "We stay on sessions", Some(accepting(&nonce))));
    assert_eq!(structured(&done["result"])["authority"], "confirmed");
    let again = server.ask(&stateless_override(&id, "We stay on sessions", None));
    assert_eq!(
        structured(&again["result"])["overridden"],
        false,
        "what was confirmed is not asked about twice"
    );
}

#[test]
fn an_answer_in_the_first_call_is_a_claim() {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    let done = project.server(&[]).ask(&stateless_override(
        &id,
        "We stay on sessions",
        Some(accepting("confirm")),
    ));
    assert_eq!(structured(&done["result"])["authority"], "claimed", "no person confirmed it");
}

#[test]
fn an_answer_to_the_question_about_another_reason_is_a_claim() {
    let (_project, mut server, id, nonce) = asked_about_override();
    let done = server.ask(&stateless_override(&id, "The user said so", Some(accepting(&nonce))));
    assert_eq!(structured(&done["result"])["authority"], "claimed");
}

#[test]
fn an_answer_to_a_question_on_another_connection_is_a_claim() {
    let (project, _asking, id, nonce) = asked_about_override();
    let done = project.server(&[]).ask(&stateless_override(
        &id,
        "We stay on sessions",
        Some(accepting(&nonce)),
    ));
    assert_eq!(structured(&done["result"])["authority"], "claimed");
}

#[test]
fn an_answer_counts_once() {
    let (project, mut server, id, nonce) = asked_about_override();
    let other = project.decide("Use PASETO", "src/tokens/");
    let used =
        server.ask(&stateless_override(&other, "We stay on sessions", Some(accepting(&nonce))));
    assert_eq!(structured(&used["result"])["authority"], "claimed");
    let replayed =
        server.ask(&stateless_override(&id, "We stay on sessions", Some(accepting(&nonce))));
    assert_eq!(structured(&replayed["result"])["authority"], "claimed");
}

#[test]
fn a_policy_can_ask_for_a_persons_word_on_every_override() {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    std::fs::write(project.path().join(".twining/policy.yml"), "overrides: confirmed\n")
        .expect("writes");
    let words = ["override", id.as_str(), "--reason", "We stay on sessions"];
    let ran = project.run(&words);
    assert!(ran.code != 0 && ran.stderr.contains("must be confirmed by a person"), "{ran:?}");
    assert_eq!(project.json(&["why", "src/auth/"])["decisions"][0]["status"], "active");
    std::fs::write(project.path().join(".twining/policy.yml"), "overrides: sometimes\n")
        .expect("writes");
    let told = project.json(&["role", "coach"]);
    assert!(told.to_string().contains("expected `confirmed` or `claimed`"), "{told}");
    assert_eq!(project.json(&words)["authority"], "claimed", "a mistaken word changes nothing");
}
