//! S29 over every verb that writes: a secret in any field of any of them is in no
//! file afterwards, and the reply says that it was taken out.

use std::path::{Path, PathBuf};
use twining_testcases::each;

use crate::common::{Project, Server};
use serde_json::{Value, json};

/// Put together here, so that nobody takes this file for a leak.
fn secret() -> String {
    format!("{}{}", "gh", "p_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX")
}

/// Calls tools with arguments that are new each time.
struct Writer {
    server: Server,
    number: usize,
    pattern: String,
    folder: PathBuf,
}

impl Writer {
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.server.call(tool, arguments)
    }

    fn made(&mut self, tool: &str, arguments: &Value) -> String {
        let reply = self.call(tool, arguments);
        assert_ne!(reply["isError"], true, "{tool}: {reply}");
        reply["structuredContent"]["id"].as_str().expect("has an id").to_owned()
    }

    fn decided(&mut self) -> String {
        self.number += 1;
        let (scope, summary) = (format!("src/{}/", self.number), format!("Choice {}", self.number));
        self.made("twining_decide", &json!({"summary": summary, "domain": "api", "scope": scope, "context": "c", "rationale": "r"}))
    }

    fn feature(&mut self) -> String {
        self.number += 1;
        let id = format!("F{}", self.number);
        let reply = self
            .call("twining_features", &json!({"action": "add", "id": id, "description": "one"}));
        assert_ne!(reply["isError"], true, "{reply}");
        id
    }

    /// Arguments that a tool takes, without a secret.
    fn plain(&mut self, tool: &str) -> Value {
        self.number += 1;
        let n = self.number;
        let new = |word: &str| format!("{word} {n}");
        match tool {
            "twining_post" => {
                json!({"entry_type": "finding", "summary": new("Found"), "force": true})
            }
            "twining_dismiss" => {
                let need = self.made(
                    "twining_post",
                    &json!({"entry_type": "need", "summary": new("Needed"), "force": true}),
                );
                json!({"ids": [need], "reason": "settled"})
            }
            "twining_decide" => {
                let scope = format!("lib/{n}/");
                json!({"summary": new("Choose"), "domain": "api", "scope": scope, "context": "c", "rationale": "r",
                    "alternatives": [{"option": "o", "pros": ["p"], "cons": ["c"], "reason_rejected": "no"}]})
            }
            "twining_reconsider" => json!({"decision_id": self.decided(), "new_context": "news"}),
            "twining_override" => json!({"decision_id": self.decided(), "reason": "no"}),
            "twining_promote" => json!({"decision_ids": [self.decided()]}),
            "twining_confirm" => {
                let code = self.folder.with_file_name("code.rs");
                std::fs::write(code, "fn kept() {}\n").expect("writes");
                let scope = format!("lib/{n}/");
                let on_code = json!({"summary": new("Keep"), "domain": "api", "scope": scope, "rationale": "r",
                    "affected_files": ["code.rs"]});
                json!({"ids": [self.made("twining_decide", &on_code)], "reason": "read again"})
            }
            "twining_link_commit" => {
                json!({"decision_id": self.decided(), "commit_hash": format!("abcdef{n:06}")})
            }
            "twining_add_entity" => {
                json!({"name": new("thing"), "type": "module", "properties": {"a": "b"}})
            }
            "twining_add_relation" => {
                let ends = [0, 1].map(|end| {
                    self.made(
                        "twining_add_entity",
                        &json!({"name": format!("end {n} {end}"), "type": "module"}),
                    )
                });
                json!({"source": ends[0], "target": ends[1], "type": "calls", "properties": {"a": "b"}})
            }
            "twining_knowledge_update" => {
                let node = json!({"op": "add_node", "id": format!("node-{n}"), "type": "component", "level": "architecture",
                    "status": "current", "description": "d", "tag": "t", "path": "src/", "example": "e"});
                json!({"operations": [node], "story_id": "S-1"})
            }
            "twining_record_turn" => {
                json!({"task": format!("T{n}"), "turn": 1, "player_decision": "did", "coach_decision": "revise",
                "progress_summary": "half", "acceptance_criteria_status": {"it works": "pending"}, "quality_gate_results": {"a": "b"}})
            }
            "twining_features" => {
                json!({"action": "add", "id": format!("G{n}"), "description": "one"})
            }
            "twining_report" => {
                json!({"feature": self.feature(), "role": "coder", "outcome": "started",
                "evidence": {"command": "make test", "output": "fine"}})
            }
            "twining_store_trace" => json!({"type": "correction", "what_happened": new("broke")}),
            "twining_create_guard" => {
                // A pattern makes one guard.
                let _ = std::fs::remove_file(self.folder.join("policy.yml"));
                json!({"pattern": self.pattern, "id": format!("guard-{n}")})
            }
            "twining_register" => {
                json!({"agent_id": format!("agent-{n}"), "capabilities": ["rust"]})
            }
            "twining_delegate" => {
                json!({"summary": new("Help"), "required_capabilities": ["rust"]})
            }
            "twining_handoff" => {
                json!({"summary": new("Over"), "results": [{"description": "d", "status": "completed",
                "artifacts": ["a"], "notes": "n"}]})
            }
            "twining_acknowledge" => {
                let over = json!({"summary": new("Take"), "results": [{"description": "d", "status": "completed"}]});
                json!({"handoff_id": self.made("twining_handoff", &over)})
            }
            "twining_claim" => json!({"paths": [format!("held/{n}.rs")], "reason": "work"}),
            "twining_archive" | "twining_prune_graph" | "twining_verify" => json!({}),
            other => panic!("{other} writes, and nobody tries it with a secret"),
        }
    }
}

/// Returns the arguments with the secret in one text at a time: each text they contain, each name
/// of an open object, and each schema field that takes text.
fn spoiled(arguments: &Value, schema: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (field, wanted) in schema["properties"].as_object().expect("has fields") {
        let told = format!("the key is {}", secret());
        let value = match (wanted["type"].as_str(), arguments.get(field)) {
            _ if wanted.get("enum").is_some() => continue,
            (Some("array" | "object"), Some(there)) => {
                each_text(there, &mut |changed| {
                    found.push((field.clone(), with(arguments, field, changed)));
                });
                if wanted["type"] == "object" && wanted.get("properties").is_none() {
                    found.push((
                        field.clone(),
                        with(arguments, field, json!({ told.clone(): "x" })),
                    ));
                }
                continue;
            }
            (Some("string"), _) => json!(told),
            (Some("array"), None) if wanted["items"]["type"] == "string" => json!([told]),
            (Some("object"), None) => json!({ "note": told }),
            _ => continue,
        };
        found.push((field.clone(), with(arguments, field, value)));
    }
    found
}

fn with(arguments: &Value, field: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[field] = value;
    arguments
}

/// The value once for each text in it, with the secret in that text's place.
fn each_text(value: &Value, tell: &mut dyn FnMut(Value)) {
    match value {
        Value::String(_) => tell(json!(format!("the key is {}", secret()))),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| {
            each_text(item, &mut |changed| {
                let mut whole = value.clone();
                whole[at] = changed;
                tell(whole);
            });
        }),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| {
            each_text(item, &mut |changed| {
                let mut whole = value.clone();
                whole[name] = changed;
                tell(whole);
            });
        }),
        _ => {}
    }
}

fn holds(folder: &Path, wanted: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).expect("lists").flatten() {
            let path = entry.path();
            if path.to_string_lossy().as_bytes().windows(wanted.len()).any(|part| part == wanted) {
                found.push(path.display().to_string());
            }
            // What the server replaces just now is looked at again at the end.
            if path.is_dir() {
                todo.push(path);
            } else if std::fs::read(&path)
                .unwrap_or_default()
                .windows(wanted.len())
                .any(|part| part == wanted)
            {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// A pattern to make guards from.
fn pattern(project: &Project) -> String {
    for _ in 0..3 {
        let mut server = project.server(&[]);
        server.initialize();
        let trace = json!({"type": "correction", "what_happened": "tagged", "what_was_correct": "releases tag", "action": "Bash: git tag"});
        assert_ne!(server.call("twining_store_trace", &trace)["isError"], true);
    }
    project.json(&["extract-patterns"])["patterns"][0]["id"].as_str().expect("is found").to_owned()
}

/// Verbs that store none of their words.
const SILENT: [&str; 3] = ["twining_acknowledge", "twining_archive", "twining_prune_graph"];

#[test]
fn s29_no_verb_writes_a_secret_and_each_says_what_it_took_out() {
    let project = Project::new();
    // Code is read only where git lists it.
    let made = std::process::Command::new("git").args(["init", "-q"]).arg(project.path()).status();
    assert!(made.is_ok_and(|made| made.success()));
    let pattern = pattern(&project);
    let mut server = project.server(&[]);
    server.initialize();
    let listed =
        server.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}));
    let tools: Vec<Value> = listed["result"]["tools"].as_array().expect("a list").clone();
    let folder = project.path().join(".twining");
    let mut writer = Writer { server, number: 0, pattern, folder: folder.clone() };
    for tool in tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] == false) {
        let name = tool["name"].as_str().expect("has a name");
        let plain = writer.plain(name);
        let reply = writer.call(name, &plain);
        assert_ne!(reply["isError"], true, "{name} is called wrongly here: {reply}");
        let mut told = 0;
        for at in 0.. {
            // New each time: the second of two features with one id would be refused.
            let arguments = writer.plain(name);
            let Some((field, arguments)) =
                spoiled(&arguments, &tool["inputSchema"]).into_iter().nth(at)
            else {
                break;
            };
            let reply = writer.call(name, &arguments);
            let redacted = reply["structuredContent"]["redacted"]
                .as_array()
                .is_some_and(|taken| !taken.is_empty());
            assert!(
                reply["isError"] == true || redacted || SILENT.contains(&name),
                "{name}, {field}: {reply}"
            );
            told += usize::from(redacted);
        }
        assert_eq!(holds(&folder, secret().as_bytes()), [""; 0], "{name}");
        assert!(told > 0 || SILENT.contains(&name), "{name} took no secret out");
    }
    drop(writer);
    project.run(&["status"]);
    assert_eq!(holds(&folder, secret().as_bytes()), [""; 0]);
}

#[test]
fn a_name_that_holds_a_secret_is_refused() {
    let project = Project::new();
    each([secret(), format!("agent-{}", secret())], |name| {
        let flag = project.run(&["--agent", &name, "post", "finding", "hello"]);
        let set = project
            .command(&["post", "finding", "hello"])
            .env("TWINING_AGENT", &name)
            .output()
            .expect("starts");
        assert!(
            flag.code != 0 && !set.status.success() && flag.stderr.contains("secret"),
            "{flag:?}"
        );
    });
    let task = format!("T-{}", secret());
    let turn = project.run(&[
        "record-turn",
        &task,
        "1",
        "--player-decision",
        "did it",
        "--coach-decision",
        "approve",
        "--progress-summary",
        "all",
    ]);
    assert!(turn.code != 0 && !turn.stderr.contains(&secret()), "{turn:?}");
    assert!(!project.path().join(".twining/turns").exists(), "{turn:?}");
}
