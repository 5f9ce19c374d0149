//! Hostile and careless input over MCP: each case gets a clear error naming the field, nothing is
//! half-written, and the server continues. Numbers match the table in docs/reference/security.md.

use crate::common::{Project, Server};
use serde_json::{Value, json};
use twining_testcases::each;

struct Bench {
    project: Project,
    server: Server,
}

impl Bench {
    fn new() -> Self {
        let project = Project::new();
        let mut server = project.server(&[]);
        server.initialize();
        let mut bench = Self { project, server };
        bench.good("twining_post", &json!({"entry_type": "finding", "summary": "here before"}));
        bench
    }

    /// A call that must work.
    fn good(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.server.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// A call that must be refused; gives the message.
    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let before = self.files();
        let result = self.server.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {}: {result}", short(arguments));
        let told = &result["structuredContent"];
        assert_eq!(told["error"], true, "{told}");
        assert!(told["code"].as_str().is_some_and(|code| !code.is_empty()), "{told}");
        assert_eq!(self.files(), before, "{tool} {}: something was written", short(arguments));
        told["message"].as_str().expect("a message").to_owned()
    }

    fn refused_naming(&mut self, field: &str, tool: &str, arguments: &Value) {
        let message = self.refused(tool, arguments);
        assert!(
            message.contains(&format!("`{field}`")),
            "{tool}: `{field}` is not named in: {message}"
        );
        assert!(message.len() < 700, "a message is for reading: {} bytes", message.len());
    }

    /// Every tracked file with its content.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let folder = self.project.path().join(".twining");
        let mut found = Vec::new();
        let mut todo = vec![folder.clone()];
        while let Some(dir) = todo.pop() {
            for file in std::fs::read_dir(&dir).expect("there").flatten() {
                let path = file.path();
                if path.is_dir() && !path.ends_with("local") {
                    todo.push(path);
                } else if path.is_file()
                    && !path.starts_with(folder.join("graph"))
                    && !path.ends_with("decisions/index.json")
                {
                    // The arrays follow a moment after the write before; the rest is settled.
                    found.push((
                        path.display().to_string(),
                        std::fs::read(&path).expect("readable"),
                    ));
                }
            }
        }
        found.sort();
        found
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(120).collect()
}

fn decision(change: &Value) -> Value {
    let mut fields = json!({"domain": "data", "scope": "src/", "summary": "Use SQLite", "context": "c", "rationale": "r"});
    for (key, value) in change.as_object().expect("an object") {
        fields[key] = value.clone();
    }
    fields
}

#[test]
fn s1_places_outside_the_project_are_refused_as_input() {
    let mut bench = Bench::new();
    for place in [
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\Windows\\x",
        "\\\\server\\share",
        "~/.ssh/id",
        "src/../../x",
        "a\u{0}b",
        "",
    ] {
        bench.refused_naming(
            "scope",
            "twining_post",
            &json!({"entry_type": "finding", "summary": "s", "scope": place}),
        );
        bench.refused_naming("scope", "twining_decide", &decision(&json!({"scope": place})));
        bench.refused_naming(
            "affected_files",
            "twining_decide",
            &decision(&json!({"affected_files": ["src/ok.rs", place]})),
        );
        bench.refused_naming("scope", "twining_why", &json!({"scope": place}));
    }
}

#[test]
fn s1_the_same_places_in_files_from_elsewhere_are_text() {
    let mut bench = Bench::new();
    let secret = bench.project.path().join("secret");
    std::fs::write(&secret, "do not read").expect("writes");
    let board = bench.project.path().join(".twining/blackboard.jsonl");
    let mut text = std::fs::read_to_string(&board).expect("there");
    for (n, place) in ["../../etc/passwd", "/etc/passwd", "C:\\x"].iter().enumerate() {
        text.push_str(
            &json!({"id": format!("foreign-{n}"), "entry_type": "warning", "summary": "from a clone", "scope": place}).to_string(),
        );
        text.push('\n');
    }
    std::fs::write(&board, text).expect("writes");
    let read = bench.good("twining_read", &json!({}));
    assert_eq!(read["total_count"], 4);
    assert!(
        read["entries"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|entry| entry["scope"] == "/etc/passwd")
    );
}

#[test]
fn s2_an_id_is_never_a_path() {
    let mut bench = Bench::new();
    for id in [
        "../../x",
        "..",
        "CON",
        "",
        "a/b",
        "01M7EB3QWY4C5CPJF6982ZJQ1\u{0}",
        "x".repeat(5000).as_str(),
    ] {
        bench.refused_naming("decision_id", "twining_trace", &json!({"decision_id": id}));
        bench.refused_naming(
            "decision_id",
            "twining_override",
            &json!({"decision_id": id, "reason": "r"}),
        );
        bench.refused_naming(
            "decision_id",
            "twining_reconsider",
            &json!({"decision_id": id, "new_context": "c"}),
        );
        bench.refused_naming("decision_id", "twining_impact", &json!({"decision_id": id}));
        bench.refused_naming("decision_ids", "twining_promote", &json!({"decision_ids": [id]}));
        bench.refused_naming("supersedes", "twining_decide", &decision(&json!({"supersedes": id})));
        bench.refused_naming(
            "depends_on",
            "twining_decide",
            &decision(&json!({"depends_on": [id]})),
        );
    }
}

#[test]
fn an_unknown_id_is_not_found_and_says_so() {
    let mut bench = Bench::new();
    let unknown = "01M7EB3QWY4C5CPJF6982ZJQ18";
    each(
        [
            ("twining_trace", json!({"decision_id": unknown})),
            ("twining_override", json!({"decision_id": unknown, "reason": "r"})),
            ("twining_reconsider", json!({"decision_id": unknown, "new_context": "c"})),
            ("twining_impact", json!({"decision_id": unknown})),
            ("twining_promote", json!({"decision_ids": [unknown]})),
            ("twining_link_commit", json!({"decision_id": unknown, "commit_hash": "abcdef12"})),
            ("twining_dismiss", json!({"ids": [unknown]})),
            ("twining_neighbors", json!({"entity": "nobody"})),
            ("twining_path", json!({"from": "nobody", "to": "noone"})),
            (
                "twining_add_relation",
                json!({"source": "nobody", "target": "noone", "type": "calls"}),
            ),
        ],
        |(tool, arguments)| {
            let message = bench.refused(tool, &arguments);
            assert!(message.contains(unknown) || message.contains("nobody"), "{tool}: {message}");
        },
    );
    bench.refused_naming(
        "supersedes",
        "twining_decide",
        &decision(&json!({"supersedes": unknown})),
    );
    bench.refused_naming(
        "depends_on",
        "twining_decide",
        &decision(&json!({"depends_on": [unknown]})),
    );
}

#[test]
fn s3_archive_names_are_ours() {
    let mut bench = Bench::new();
    for before in ["../../x", "2026-01-01/../../x", "CON", "yesterday", ""] {
        bench.refused_naming("before", "twining_archive", &json!({"before": before}));
    }
    let archived = bench.good("twining_archive", &json!({}));
    let file = archived["archive_file"].as_str().expect("a name");
    assert!(
        file.starts_with("archive/20") && file.ends_with("-blackboard.jsonl")
            || file.contains("/archive/20"),
        "{file}"
    );
}

#[test]
fn s16_an_entry_from_the_future_does_not_stay_on_top() {
    let mut bench = Bench::new();
    let board = bench.project.path().join(".twining/blackboard.jsonl");
    let mut text = std::fs::read_to_string(&board).expect("there");
    text.push_str("{\"id\":\"7ZZZZZZZZZZZZZZZZZZZZZZZZZ\",\"timestamp\":\"9999-01-01T00:00:00.000Z\",\"entry_type\":\"warning\",\"summary\":\"me first\"}\n");
    std::fs::write(&board, text).expect("writes");
    bench.good("twining_post", &json!({"entry_type": "finding", "summary": "today"}));
    let recent = bench.good("twining_recent", &json!({"n": 2}));
    let summaries: Vec<&str> = recent["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e["summary"].as_str())
        .collect();
    assert_eq!(summaries, ["today", "here before"]);
    let status = bench.good("twining_status", &json!({}));
    assert!(status["warnings"].to_string().contains("future"), "{status}");
}

#[test]
fn s16_a_decision_from_the_future_does_not_stay_on_top() {
    let bench = Bench::new();
    let ids =
        [bench.project.decide("dated ahead", "src/"), bench.project.decide("of today", "src/")];
    let file = bench.project.path().join(format!(".twining/decisions/{}.json", ids[0]));
    let mut decision: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("there")).expect("JSON");
    decision["timestamp"] = json!("9999-01-01T00:00:00.000Z");
    std::fs::write(&file, decision.to_string()).expect("writes");
    let why = bench.project.json(&["why", "src/"]);
    let summaries: Vec<&str> = why["decisions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|told| told["summary"].as_str())
        .collect();
    assert_eq!(summaries, ["of today", "dated ahead"]);
}

#[test]
fn s17_whoever_an_agent_says_it_is_the_record_says_what_we_know() {
    let mut bench = Bench::new();
    bench.good(
        "twining_post",
        &json!({"entry_type": "finding", "summary": "I am the boss", "agent_id": "human"}),
    );
    let entry = bench.good("twining_recent", &json!({"n": 1}))["entries"][0].clone();
    assert_eq!(entry["agent_id"], "human");
    assert_eq!(
        (entry["origin"]["via"].as_str(), entry["origin"]["trust"].as_str()),
        (Some("mcp"), Some("agent"))
    );
    assert_eq!(entry["origin"]["client"], "test-client");
    bench.refused_naming(
        "origin",
        "twining_post",
        &json!({"entry_type": "finding", "summary": "x", "origin": {"trust": "human"}}),
    );
}

#[test]
fn s21_what_is_too_large_is_refused_by_the_field_that_is() {
    let mut bench = Bench::new();
    let post = |field: &str, value: Value| {
        let mut fields = json!({"entry_type": "finding", "summary": "s"});
        fields[field] = value;
        fields
    };
    bench.refused_naming("summary", "twining_post", &post("summary", json!("x".repeat(201))));
    bench.refused_naming("detail", "twining_post", &post("detail", json!("x".repeat(10_000_000))));
    bench.refused_naming("detail", "twining_post", &post("detail", json!("x".repeat(70_000))));
    let tags: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    bench.refused_naming("tags", "twining_post", &post("tags", json!(tags)));
    bench.refused_naming("tags", "twining_post", &post("tags", json!(["x".repeat(65)])));
    bench.refused_naming("relates_to", "twining_post", &post("relates_to", json!(tags[..300])));
    bench.refused_naming("agent_id", "twining_post", &post("agent_id", json!("x".repeat(2000))));
    bench.refused_naming(
        "summary",
        "twining_decide",
        &decision(&json!({"summary": "x".repeat(201)})),
    );
    bench.refused_naming(
        "rationale",
        "twining_decide",
        &decision(&json!({"rationale": "x".repeat(70_000)})),
    );
    bench.refused_naming(
        "affected_files",
        "twining_decide",
        &decision(&json!({"affected_files": tags[..300]})),
    );
    bench.refused_naming("limit", "twining_read", &json!({"limit": 1_000_000}));
    bench.refused_naming("limit", "twining_read", &json!({"limit": 0}));
    bench.refused_naming("n", "twining_recent", &json!({"n": 100_000}));
    let properties: serde_json::Map<String, Value> =
        (0..100).map(|n| (n.to_string(), json!("v"))).collect();
    bench.refused_naming(
        "properties",
        "twining_add_entity",
        &json!({"name": "n", "type": "file", "properties": properties}),
    );
    bench.refused_naming(
        "name",
        "twining_add_entity",
        &json!({"name": "x".repeat(5000), "type": "file"}),
    );
}

#[test]
fn wrong_words_are_refused_with_the_right_ones() {
    let mut bench = Bench::new();
    let message = bench.refused("twining_post", &json!({"entry_type": "rumour", "summary": "s"}));
    assert!(message.contains("`entry_type`") && message.contains("finding"), "{message}");
    let result =
        bench.server.call("twining_post", &json!({"entry_type": "decision", "summary": "s"}));
    assert!(result["structuredContent"].to_string().contains("twining_decide"), "{result}");
    bench.refused_naming("since", "twining_read", &json!({"since": "yesterday"}));
    bench.refused_naming("entry_types", "twining_read", &json!({"entry_types": ["rumour"]}));
    bench.refused_naming(
        "confidence",
        "twining_decide",
        &decision(&json!({"confidence": "total"})),
    );
    bench.refused_naming(
        "status",
        "twining_search_decisions",
        &json!({"query": "x", "status": "done"}),
    );
    bench.refused_naming(
        "direction",
        "twining_trace",
        &json!({"decision_id": "01M7EB3QWY4C5CPJF6982ZJQ18", "direction": "sideways"}),
    );
    bench.refused_naming("type", "twining_add_entity", &json!({"name": "n", "type": "planet"}));
    bench.refused_naming(
        "type",
        "twining_add_relation",
        &json!({"source": "a", "target": "b", "type": "loves"}),
    );
    bench.refused_naming("commit_hash", "twining_commits", &json!({"commit_hash": "not-hex"}));
    bench.refused_naming(
        "commit_hash",
        "twining_commits",
        &json!({"commit_hash": "--upload-pack=x"}),
    );
    bench.refused_naming("format", "twining_export", &json!({"format": "docx"}));
    bench.refused_naming("checks", "twining_verify", &json!({"checks": ["vibes"]}));
    bench.refused_naming("summary", "twining_post", &json!({"entry_type": "finding"}));
    bench.refused_naming(
        "summary",
        "twining_post",
        &json!({"entry_type": "finding", "summary": "a\u{0}b"}),
    );
    bench.refused_naming(
        "detail",
        "twining_post",
        &json!({"entry_type": "finding", "summary": "s", "detail": "a\u{0}b"}),
    );
}

#[test]
fn s22_json_that_is_no_json_we_want_is_an_error_and_no_crash() {
    let mut bench = Bench::new();
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    bench.refused("twining_post", &json!({"entry_type": "finding", "summary": "s", "tags": deep}));
    for arguments in [
        r#"{"entry_type":"finding","summary":"\ud800"}"#,
        r#"{"entry_type":"finding","summary":"s","summary":"t","x":1e999}"#,
        &format!(
            r#"{{"entry_type":"finding","summary":"s","tags":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        ),
        r#"[]"#,
        r#""text""#,
        r#"{"entry_type":7,"summary":null}"#,
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"twining_post","arguments":{arguments}}}}}"#
        );
        bench.server.send_bytes(line.as_bytes());
        let answer = bench.server.receive();
        let failed = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(failed, "{}: {answer}", &arguments[..arguments.len().min(80)]);
    }
    let status = bench.good("twining_status", &json!({}));
    assert_eq!(status["blackboard_entries"], 1);
}

#[test]
fn s26_search_syntax_and_sql_are_found_as_text() {
    let mut bench = Bench::new();
    let hostile = "\"; DROP TABLE entry; -- NEAR(a b) summary:x* ^y {z} 'q' OR 1=1 %_\\";
    bench
        .good("twining_post", &json!({"entry_type": "finding", "summary": "sqlite injection", "detail": hostile, "scope": "src/o'brien/"}));
    for query in [
        hostile,
        "\"",
        "*",
        "NEAR(",
        "a AND",
        "NOT",
        "summary:",
        "(",
        ")",
        "'",
        "\\",
        "%",
        "_",
        "AND OR NOT",
        "🦀",
        "\u{202e}x",
        "-",
    ] {
        bench.good("twining_query", &json!({"query": query}));
        bench.good("twining_search_decisions", &json!({"query": query}));
        bench.good("twining_graph_query", &json!({"query": query}));
    }
    let found = bench.good("twining_query", &json!({"query": "DROP TABLE entry"}));
    assert_eq!(found["results"][0]["entry"]["detail"], hostile);
    let read = bench.good("twining_read", &json!({"scope": "src/o'brien/"}));
    assert_eq!(read["total_count"], 1);
    let read = bench.good("twining_read", &json!({"scope": "src/%"}));
    assert_eq!(read["total_count"], 0);
}

#[test]
fn s28_cycles_and_endless_depths_end() {
    let mut bench = Bench::new();
    for name in ["a", "b"] {
        bench.good("twining_add_entity", &json!({"name": name, "type": "module"}));
    }
    for (source, target) in [("a", "b"), ("b", "a"), ("a", "a")] {
        bench.good(
            "twining_add_relation",
            &json!({"source": source, "target": target, "type": "calls"}),
        );
    }
    bench.good("twining_neighbors", &json!({"entity": "a", "depth": 3}));
    bench.refused_naming(
        "depth",
        "twining_neighbors",
        &json!({"entity": "a", "depth": 1_000_000_000}),
    );
    bench.refused_naming(
        "max_depth",
        "twining_path",
        &json!({"from": "a", "to": "b", "max_depth": 1_000_000_000}),
    );
    let path = bench.good("twining_path", &json!({"from": "a", "to": "b"}));
    assert_eq!((path["found"].as_bool(), path["length"].as_u64()), (Some(true), Some(1)));

    // Two decisions made to depend on and supersede each other by hand.
    let first = bench.good("twining_decide", &decision(&json!({"domain": "one"})))["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let second = bench
        .good("twining_decide", &decision(&json!({"domain": "two", "depends_on": [first]})))["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let path = bench.project.path().join(format!(".twining/decisions/{first}.json"));
    let mut value: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("there")).expect("JSON");
    value["depends_on"] = json!([second, first]);
    value["supersedes"] = json!(second);
    std::fs::write(&path, value.to_string()).expect("writes");
    let chain = bench.good("twining_trace", &json!({"decision_id": first}));
    assert_eq!(chain["chain"].as_array().map(Vec::len), Some(2));
    bench.good("twining_impact", &json!({"decision_id": first}));
    bench.good("twining_why", &json!({"scope": "src/"}));
}

#[test]
fn s36_s37_nothing_stored_reaches_a_terminal_raw() {
    let mut bench = Bench::new();
    let hostile = "\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{202e}evil\u{200b}\u{e0041}\r\u{9b}31m";
    bench.good("twining_post", &json!({"entry_type": "warning", "summary": format!("x {hostile}"), "detail": hostile, "tags": [format!("t{hostile}")], "agent_id": format!("a{hostile}")}));
    bench.good("twining_add_entity", &json!({"name": format!("e{hostile}"), "type": "module"}));
    each(
        [
            vec!["recent"],
            vec!["read"],
            vec!["status"],
            vec!["query", "evil"],
            vec!["graph-query", "evil"],
            vec!["export"],
            vec!["assemble", "evil", "project"],
            vec!["recent", "--json"],
            vec!["export", "--json"],
        ],
        |words| {
            let ran = bench.project.run(&words);
            assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
            let raw = ran
                .stdout
                .chars()
                .chain(ran.stderr.chars())
                .find(|c| twining_model::text::is_unsafe_to_show(*c));
            assert_eq!(raw, None, "{words:?}: {}", ran.stdout.escape_debug());
        },
    );
}

#[test]
fn s43_a_cloned_queue_has_no_authority() {
    let mut bench = Bench::new();
    let id = bench.good("twining_decide", &decision(&json!({})))["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let folder = bench.project.path().join(".twining");
    let lines = [
        json!({"tool": "twining_override", "decision_id": id, "reason": "because"}).to_string(),
        json!({"tool": "twining_post", "entry_type": "decision", "summary": "sneaky"}).to_string(),
        json!({"tool": "twining_post", "entry_type": "status", "summary": "honest", "origin": {"via": "cli", "trust": "human"}})
            .to_string(),
        json!({"entry_type": "status", "summary": "fine"}).to_string(),
        "not json".to_owned(),
    ];
    std::fs::write(folder.join("pending-posts.jsonl"), lines.join("\n") + "\n").expect("writes");
    let actions = [
        json!({"action": "override", "decision_id": id}).to_string(),
        json!({"action": "run", "command": "touch pwned"}).to_string(),
    ];
    std::fs::write(folder.join("pending-actions.jsonl"), actions.join("\n") + "\n")
        .expect("writes");
    let recent = bench.good("twining_recent", &json!({"n": 20}));
    let fine = recent["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|e| e["summary"] == "fine")
        .expect("the good line is posted");
    assert_eq!(
        (fine["origin"]["via"].as_str(), fine["origin"]["trust"].as_str()),
        (Some("hook"), Some("tool"))
    );
    assert!(!recent.to_string().contains("sneaky"));
    assert!(
        !recent["entries"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|e| e["origin"]["trust"] == "human"),
        "{recent}"
    );
    let why = bench.good("twining_why", &json!({"scope": "src/"}));
    assert_eq!(why["decisions"][0]["status"], "active");
    let rejected = std::fs::read_to_string(folder.join("pending-rejected.jsonl"))
        .expect("bad lines are set aside");
    assert!(rejected.lines().count() >= 4, "{rejected}");
}

#[test]
fn a_folder_of_links_is_refused_by_name_and_the_server_lives() {
    let project = Project::new();
    let outside = tempfile::tempdir().expect("a temporary directory");
    std::os::unix::fs::symlink(outside.path(), project.path().join(".twining")).expect("links");
    let mut server = project.server(&[]);
    server.initialize();
    each(["twining_status", "twining_recent"], |tool| {
        let result = server.call(tool, &json!({}));
        assert_eq!(result["structuredContent"]["code"], "UNSAFE_PATH", "{result}");
    });
    let result = server.call("twining_post", &json!({"entry_type": "finding", "summary": "s"}));
    assert!(
        result["structuredContent"]["message"].as_str().is_some_and(|m| m.contains(".twining")),
        "{result}"
    );
    assert_eq!(std::fs::read_dir(outside.path()).expect("there").count(), 0);
}
