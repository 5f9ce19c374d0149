//! Output escaping at every boundary: file contents, however hostile, are shown to people and
//! models but never obeyed.

use crate::common::Project;
use serde_json::{Value, json};
use twining_model::text::is_unsafe_to_show;
use twining_testcases::each;

const HOSTILE: &str =
    "\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{202e}evil\u{200b}\u{e0041}\r\u{9b}31m\u{2066}\u{feff}\u{ad}";
const ID: &str = "01K9Z3M4E0HAND0FFAAAAAAAA1";

/// A folder as a hostile repository would bring it: every field of every record.
fn planted() -> Project {
    let project = Project::new();
    project.json(&["post", "finding", "an honest one"]);
    let h = |word: &str| format!("{word}{HOSTILE}");
    let folder = project.path().join(".twining");
    let write = |name: &str, value: &Value| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("is inside")).expect("makes");
        std::fs::write(path, format!("{value}\n")).expect("writes");
    };
    let until = project.json(&["claim", "docs", "--ttl", "1h"])["claim"]["until"].clone();
    let entries = ["warning", "need", "question", "finding"].map(|kind| {
        json!({"id": h(kind), "timestamp": "2026-11-14T00:00:00.000Z", "agent_id": h("a"), "entry_type": kind, "tags": [h("t")],
            "scope": h("src/"), "summary": h("s evil"), "detail": h("d\n# heading"), "relates_to": [h("r")]})
    });
    let board = std::fs::read_to_string(folder.join("blackboard.jsonl")).expect("is there");
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    std::fs::write(folder.join("blackboard.jsonl"), board + &lines).expect("writes");
    write(
        "decisions/01K9Z3M4E0DEC1S10NAAAAAAA1.json",
        &json!({"id": "01K9Z3M4E0DEC1S10NAAAAAAA1", "timestamp": h("2026"), "agent_id": h("a"), "domain": h("api"), "scope": "src/", "summary": h("evil choice"),
            "context": h("c"), "rationale": h("r"), "status": "active", "confidence": "high", "constraints": [h("c")], "affected_files": [h("src/x")],
            "alternatives": [{"option": h("o"), "reason_rejected": h("n")}]}),
    );
    write(
        "agents/registry.json",
        &json!([{"agent_id": h("agent"), "capabilities": [h("rust"), "rust"], "role": h("dev"), "description": h("d")}]),
    );
    write(
        &format!("handoffs/{ID}.json"),
        &json!({"id": ID, "created_at": h("2026"), "source_agent": h("a"), "scope": h("src/"), "summary": h("evil work"),
            "results": [{"description": h("d"), "status": h("completed"), "artifacts": [h("f")], "notes": h("n")}], "context_snapshot": {"summaries": [h("l")]}}),
    );
    write(
        "local/claims.json",
        &json!({"claims": [{"id": h("c"), "agent_id": h("holder"), "session_id": null, "paths": [h("src/")], "feature": h("F"), "reason": h("why"), "since": h("x"), "until": until}]}),
    );
    write(
        "features.json",
        &json!({"features": [{"id": h("F1"), "description": h("evil feature"), "status": "pending", "files": [h("src/")]}]}),
    );
    project
}

fn raw(text: &str) -> Option<char> {
    text.chars().find(|c| is_unsafe_to_show(*c))
}

#[test]
fn nothing_planted_in_the_files_reaches_a_terminal_raw() {
    let project = planted();
    each(
        [
            "status",
            "read",
            "recent",
            "query evil",
            "why src/",
            "search-decisions evil",
            "assemble evil src/",
            "summarize src/",
            "what-changed 2020-01-01",
            "export",
            "export --format madr",
            "agents --include-gone",
            "discover rust --include-gone",
            "claim --action list",
            "claim src/x",
            "features",
            "next",
            "prompt --role coder --task T1 --task-type feature",
            "trace 01K9Z3M4E0DEC1S10NAAAAAAA1",
            "impact 01K9Z3M4E0DEC1S10NAAAAAAA1",
            "verify src/",
            "doctor",
            "handoff x",
            "--agent bob acknowledge 01K9Z3M4E0HAND0FFAAAAAAAA1",
        ],
        |words| {
            for extra in [&[][..], &["--json"]] {
                let words: Vec<&str> = words.split(' ').chain(extra.iter().copied()).collect();
                let ran = project.run(&words);
                let found = raw(&ran.stdout).or_else(|| raw(&ran.stderr));
                assert_eq!(
                    found,
                    None,
                    "{words:?}: {} {}",
                    ran.stdout.escape_debug(),
                    ran.stderr.escape_debug()
                );
            }
        },
    );
}

#[test]
fn nothing_planted_in_the_files_reaches_a_model_raw() {
    let project = planted();
    let mut server = project.server(&[]);
    server.initialize();
    each(
        [
            ("twining_read", json!({})),
            ("twining_query", json!({"query": "evil"})),
            ("twining_why", json!({"scope": "src/"})),
            ("twining_assemble", json!({"task": "evil", "scope": "src/"})),
            ("twining_agents", json!({"include_gone": true})),
            ("twining_claim", json!({"paths": ["src/x"]})),
            ("twining_status", json!({})),
            ("twining_next", json!({})),
            ("twining_export", json!({})),
            ("twining_acknowledge", json!({"handoff_id": ID})),
        ],
        |(tool, arguments)| {
            let result = server.call(tool, &arguments);
            // As a client reads it: every escape of the transport is off.
            let mut todo = vec![&result];
            while let Some(value) = todo.pop() {
                match value {
                    Value::String(text) => {
                        assert_eq!(raw(text), None, "{tool}: {}", text.escape_debug());
                    }
                    Value::Array(items) => todo.extend(items),
                    Value::Object(fields) => todo.extend(fields.values()),
                    _ => {}
                }
            }
        },
    );
    drop(server);
    for event in ["SessionStart", "UserPromptSubmit"] {
        let input = json!({"session_id": "s", "cwd": project.path(), "hook_event_name": event, "prompt": "evil"}).to_string();
        let ran = project.run_with(&["hook", event], &input);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        assert_eq!(
            raw(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or(&ran.stdout)),
            None,
            "{event}: {}",
            ran.stdout.escape_debug()
        );
    }
}

#[test]
fn who_wrote_a_record_is_told_and_what_says_nothing_came_with_the_repository() {
    let project = planted();
    let read = project.json(&["read"]);
    let entries = read["entries"].as_array().expect("a list");
    let origins: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| {
            (
                entry["origin"]["via"].as_str().unwrap_or(""),
                entry["origin"]["trust"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert!(
        origins.contains(&("cli", "agent")) && origins.contains(&("repository", "imported")),
        "{origins:?}"
    );
    let why = project.json(&["why", "src/"]);
    assert_eq!(why["decisions"][0]["origin"], json!({"via": "repository", "trust": "imported"}));
}

#[test]
fn s29_a_secret_is_taken_out_at_every_door_and_said_so() {
    let project = Project::new();
    let secret = format!("{}{}", "gh", "p_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX");
    let posted = project.json(&["post", "finding", &format!("use {secret}")]);
    assert_eq!(posted["redacted"], json!([{"field": "summary", "kind": "GitHub token"}]));
    let ran = project.run(&["post", "finding", &format!("and then {secret}")]);
    assert!(ran.stdout.contains("redacted before writing: GitHub token in summary"), "{ran:?}");
    let mut server = project.server(&[]);
    server.initialize();
    let decided = server.call(
        "twining_decide",
        &json!({"summary": "use it", "domain": "api", "scope": "src/", "context": "c", "rationale": format!("because {secret}")}),
    );
    assert_eq!(decided["structuredContent"]["redacted"][0]["field"], "rationale");
    drop(server);
    assert!(!project.run(&["export"]).stdout.contains(&secret));
}

#[test]
fn a_repeated_post_is_answered_with_the_entry_that_is_there() {
    let project = Project::new();
    let first = project.json(&["post", "warning", "the clock is five minutes off"]);
    let again = project.json(&["post", "warning", "The clock is five minutes off."]);
    assert_eq!((&again["duplicate_of"], &again["id"]), (&first["id"], &first["id"]));
    let ran = project.run(&["post", "warning", "the clock is five minutes off"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("not posted"), "{ran:?}");
    assert_eq!(
        project.json(&["post", "warning", "the clock is five minutes off", "--force"])["duplicate_of"],
        Value::Null
    );
    assert_eq!(project.json(&["read"])["total_count"], 2);
}

#[test]
fn a_word_that_begins_with_a_dash_is_named_whole_with_how_to_say_it() {
    let project = Project::new();
    let ran = project.run(&["query", "-foo"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("`-foo`") && ran.stderr.contains("-- \"-foo\""),
        "{ran:?}"
    );
    assert_eq!(project.run(&["query", "--", "-foo"]).code, 0);
}

#[test]
fn a_commit_that_no_decision_is_linked_with_is_told_as_such() {
    let project = Project::new();
    let ran = project.run(&["why", "--commit", "deadbeef"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "no decision is linked to commit deadbeef"));
}

#[test]
fn a_value_may_begin_with_a_dash_and_a_flag_stays_a_flag() {
    let project = Project::new();
    let posted = project.json(&[
        "post",
        "finding",
        "flags",
        "--detail",
        "-Wall breaks the build",
        "--scope",
        "src/",
    ]);
    let read = project.json(&["read"]);
    assert_eq!(read["entries"][0]["detail"], "-Wall breaks the build", "{posted} {read}");
    each(
        [
            ("--rationale", "--force loses data"),
            ("--context", "-----BEGIN x"),
            ("--rationale", "-1"),
            ("--summary", "-x"),
        ],
        |(flag, value)| {
            let mut words = vec!["decide", "--domain", "testing", "--scope", "src/", flag, value];
            for (other, filled) in
                [("--summary", "one"), ("--context", "two"), ("--rationale", "three")]
            {
                if !other.starts_with(flag) {
                    words.extend([other, filled]);
                }
            }
            assert_eq!(project.run(&words).code, 0, "{words:?}: {:?}", project.run(&words));
        },
    );
    // A value that was forgotten is not the next flag.
    let forgotten = project.run(&["post", "finding", "x", "--detail", "--scope", "src/"]);
    assert!(forgotten.code == 2 && forgotten.stderr.contains("--detail"), "{forgotten:?}");
    assert_eq!(
        project.run(&["post", "finding", "x", "--detail", "--help"]).code,
        2,
        "nor is a flag everybody has"
    );
    assert!(project.run(&["query", "x", "--limit", "-1"]).stderr.contains("positive whole number"));
}

#[test]
fn what_was_typed_is_not_repeated_where_it_is_long_or_secret() {
    let project = Project::new();
    let token = format!("ghp_{}", "Zk4Tq9LmX2vB7nR1sW8yC5dF3gH6jK0pQaUe");
    let long = "z".repeat(5_000);
    each(
        [token.as_str(), &long, &format!("-{token}"), &format!("--{token}"), &format!("--{long}")],
        |value| {
            for words in [
                vec!["query", "x", "--limit", value],
                vec!["post", value],
                vec!["post", "finding", "x", value],
                vec![value],
                vec!["export", "--format", value],
                vec!["decide", "--alternatives", value],
            ] {
                for style in [&[][..], &["--json"]] {
                    let words: Vec<&str> =
                        words.iter().copied().chain(style.iter().copied()).collect();
                    let ran = project.run(&words);
                    let told = format!("{}{}", ran.stdout, ran.stderr);
                    assert!(
                        ran.code != 0 && !told.contains(&token[..]) && !told.contains(&long[..400]),
                        "{words:?}: {told}"
                    );
                }
            }
        },
    );
}

#[test]
fn an_agent_without_a_name_is_refused_and_not_taken_for_another() {
    let project = Project::new();
    each(["", "  "], |name| {
        for words in [
            vec!["post", "finding", "x", "--agent", name],
            vec!["init", "--agent", name],
            vec!["mcp", "--agent", name],
        ] {
            let ran = project.run(&words);
            assert!(
                ran.code == 2 && ran.stderr.contains("`agent` must not be empty"),
                "{words:?}: {ran:?}"
            );
        }
    });
    assert!(!project.path().join(".twining").exists(), "nothing was written");
}

#[test]
fn settings_of_a_newer_version_are_not_overlooked_because_they_are_large() {
    let project = Project::new();
    project.json(&["post", "finding", "x"]);
    let large = format!("# {}\nversion: 2\n", "x".repeat(80_000));
    std::fs::write(project.path().join(".twining/config.yml"), large).expect("writes");
    let ran = project.run(&["post", "finding", "y"]);
    assert!(ran.code == 1 && ran.stderr.contains("version 2"), "{ran:?}");
    assert_eq!(
        project.json(&["read"])["entries"].as_array().map(Vec::len),
        Some(1),
        "it can be read"
    );
    std::fs::write(
        project.path().join(".twining/config.yml"),
        format!("version: 1\n# {}\n", "x".repeat(80_000)),
    )
    .expect("writes");
    assert_eq!(project.run(&["post", "finding", "y"]).code, 0);
}
