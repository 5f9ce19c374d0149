//! A call of every verb that writes, and where the tracked files must contain the record when the
//! reply arrives.
//!
//! Not here: `claim`, which writes only to `local/`, as presence does.

use std::path::Path;

use serde_json::{Value, json};

/// A client with a server on a project.
pub trait TestCaller {
    /// Calls a tool.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String>;
    /// Calls a tool through another server: another session.
    fn call_elsewhere(&mut self, tool: &str, arguments: &Value) -> Result<Value, String>;
    /// The project's folder.
    fn project(&self) -> &Path;
}

/// One way to call a verb that writes.
pub struct WritingVerb {
    /// The tool.
    pub tool: &'static str,
    /// Which case of it, where there are several.
    pub case: &'static str,
    /// Prepares what the verb needs, and its arguments, using a word that occurs nowhere else.
    pub prepare: fn(&mut dyn TestCaller, &str) -> Result<Value, String>,
    /// What the files must hold, by arguments, answer and word.
    pub records: fn(&Value, &Value, &str) -> Vec<ExpectedRecord>,
}

/// What a file must hold, or no longer hold.
#[derive(Clone, Debug)]
pub struct ExpectedRecord {
    /// The file, inside `.twining`.
    pub path: String,
    /// What one of its records holds, blanks aside.
    pub texts: Vec<String>,
    /// Whether such a record is to be there.
    pub is_there: bool,
}

impl ExpectedRecord {
    /// Whether the file's text is as it must be.
    #[must_use]
    pub fn fits(&self, file: &str) -> bool {
        let packed: String = file.split_ascii_whitespace().collect();
        packed.split("\"id\":\"").any(|record| self.texts.iter().all(|text| record.contains(text)))
            == self.is_there
    }
}

fn holds(path: impl Into<String>, texts: &[&str]) -> ExpectedRecord {
    ExpectedRecord {
        path: path.into(),
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        is_there: true,
    }
}

/// A text of an answer.
fn text<'v>(answer: &'v Value, field: &str) -> &'v str {
    answer[field].as_str().unwrap_or_else(|| panic!("`{field}` is in {answer}"))
}

/// A decision's file and its line in the index.
fn decision(id: &str, says: &str, status: &str) -> Vec<ExpectedRecord> {
    let status = format!("\"status\":\"{status}\"");
    vec![
        holds(format!("decisions/{id}.json"), &[says]),
        holds(format!("decisions/{id}.json"), &[&status]),
        holds("decisions/index.json", &[id, &status]),
    ]
}

fn decide(word: &str) -> Value {
    let file = format!("src/{word}.rs");
    json!({"domain": "api", "scope": file, "summary": word, "context": "c", "rationale": "r", "affected_files": [file]})
}

/// A decision that is bound to a file of the project.
fn anchored(caller: &mut dyn TestCaller, word: &str) -> Result<String, String> {
    std::fs::write(caller.project().join("code.rs"), "fn kept() {}\n")
        .map_err(|error| error.to_string())?;
    let mut given = decide(word);
    given["affected_files"] = json!(["code.rs"]);
    let made = caller.call("twining_decide", &given)?;
    Ok(made["id"].as_str().unwrap_or_default().to_owned())
}

fn decided(caller: &mut dyn TestCaller, word: &str) -> Result<String, String> {
    let summary = format!("before-{word}");
    Ok(text(&caller.call("twining_decide", &decide(&summary))?, "id").to_owned())
}

fn handoff(word: &str) -> Value {
    json!({"summary": word, "results": [{"description": "d", "status": "completed"}]})
}

/// A pattern that proposes a guard; requires reports from agents of three sessions.
fn pattern(caller: &mut dyn TestCaller) -> Result<Value, String> {
    let trace = json!({"type": "violation", "what_happened": "pushed", "why": "not yet", "action": "Bash: git push"});
    loop {
        let found = caller.call("twining_extract_patterns", &json!({}))?;
        if found["patterns"][0]["counted"].as_u64() >= Some(3) {
            return Ok(found["patterns"][0]["id"].clone());
        }
        caller.call_elsewhere("twining_store_trace", &trace)?;
    }
}

/// Every verb that writes tracked files.
pub const WRITING_VERBS: &[WritingVerb] = &[
    WritingVerb {
        tool: "twining_post",
        case: "",
        prepare: |_, word| Ok(json!({"entry_type": "finding", "summary": word})),
        records: |_, answer, word| vec![holds("blackboard.jsonl", &[text(answer, "id"), word])],
    },
    WritingVerb {
        tool: "twining_dismiss",
        case: "",
        prepare: |caller, word| {
            let posted = caller.call(
                "twining_post",
                &json!({"entry_type": "warning", "summary": "settled soon"}),
            )?;
            Ok(json!({"ids": [posted["id"]], "reason": word}))
        },
        records: |_, _, word| vec![holds("blackboard.jsonl", &[word])],
    },
    WritingVerb {
        tool: "twining_decide",
        case: "",
        prepare: |_, word| Ok(decide(word)),
        records: |_, answer, word| {
            let mut all = decision(text(answer, "id"), word, "active");
            all.extend(
                ["blackboard.jsonl", "graph/entities.json", "graph/relations.json"]
                    .map(|path| holds(path, &[word])),
            );
            all
        },
    },
    WritingVerb {
        tool: "twining_reconsider",
        case: "",
        prepare: |caller, word| {
            Ok(json!({"decision_id": decided(caller, word)?, "new_context": word}))
        },
        records: |given, _, word| {
            let mut all = decision(text(given, "decision_id"), word, "provisional");
            all.push(holds("blackboard.jsonl", &[word]));
            all
        },
    },
    WritingVerb {
        tool: "twining_override",
        case: "",
        prepare: |caller, word| {
            Ok(json!({"decision_id": decided(caller, word)?, "reason": "r", "new_decision": word}))
        },
        records: |given, answer, word| {
            let mut all = decision(text(given, "decision_id"), "override_reason", "overridden");
            all.extend(decision(text(answer, "replacement"), word, "active"));
            all
        },
    },
    WritingVerb {
        tool: "twining_promote",
        case: "",
        prepare: |caller, word| {
            let id = decided(caller, word)?;
            caller.call("twining_reconsider", &json!({"decision_id": id, "new_context": "c"}))?;
            Ok(json!({"decision_ids": [id], "promoted_by": word}))
        },
        records: |given, _, word| {
            decision(given["decision_ids"][0].as_str().unwrap_or_default(), word, "active")
        },
    },
    WritingVerb {
        tool: "twining_confirm",
        case: "",
        prepare: |caller, word| Ok(json!({"ids": [anchored(caller, word)?], "reason": word})),
        records: |given, _, word| {
            let id = given["ids"][0].as_str().unwrap_or_default();
            vec![holds("anchors.jsonl", &[id, word, "confirmed"])]
        },
    },
    WritingVerb {
        tool: "twining_link_commit",
        case: "",
        prepare: |caller, word| {
            let hash: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
            Ok(
                json!({"decision_id": decided(caller, word)?, "commit_hash": format!("{hash:0>40}")}),
            )
        },
        records: |given, _, _| {
            let mut all =
                decision(text(given, "decision_id"), text(given, "commit_hash"), "active");
            all.push(holds(
                "decisions/index.json",
                &[text(given, "decision_id"), text(given, "commit_hash")],
            ));
            all.push(holds("graph/entities.json", &[text(given, "commit_hash")]));
            all
        },
    },
    WritingVerb {
        tool: "twining_add_entity",
        case: "new",
        prepare: |_, word| Ok(json!({"name": word, "type": "module"})),
        records: |_, answer, word| vec![holds("graph/entities.json", &[text(answer, "id"), word])],
    },
    WritingVerb {
        tool: "twining_add_entity",
        case: "known",
        prepare: |caller, word| {
            caller.call(
                "twining_add_entity",
                &json!({"name": format!("module-of-{word}"), "type": "module"}),
            )?;
            Ok(
                json!({"name": format!("module-of-{word}"), "type": "module", "properties": {"owner": format!("owner-{word}")}}),
            )
        },
        records: |_, answer, word| {
            vec![holds("graph/entities.json", &[text(answer, "id"), &format!("owner-{word}")])]
        },
    },
    WritingVerb {
        tool: "twining_add_relation",
        case: "",
        prepare: |caller, word| {
            let [one, other] =
                [0, 1].map(|end| json!({"name": format!("end-{end}-{word}"), "type": "module"}));
            let source = caller.call("twining_add_entity", &one)?["id"].take();
            let target = caller.call("twining_add_entity", &other)?["id"].take();
            Ok(
                json!({"source": source, "target": target, "type": "calls", "properties": {"why": word}}),
            )
        },
        records: |_, answer, word| vec![holds("graph/relations.json", &[text(answer, "id"), word])],
    },
    WritingVerb {
        tool: "twining_prune_graph",
        case: "",
        prepare: |caller, word| {
            caller.call("twining_add_entity", &json!({"name": word, "type": "module"}))?;
            Ok(json!({"dry_run": false}))
        },
        records: |_, _, word| {
            vec![ExpectedRecord { is_there: false, ..holds("graph/entities.json", &[word]) }]
        },
    },
    WritingVerb {
        tool: "twining_knowledge_update",
        case: "",
        prepare: |_, word| {
            let node = json!({"op": "add_node", "id": word, "type": "component", "level": "architecture", "status": "current", "description": "d"});
            Ok(json!({"operations": [node]}))
        },
        records: |_, _, word| vec![holds("knowledge.dot", &[word])],
    },
    WritingVerb {
        tool: "twining_record_turn",
        case: "",
        prepare: |_, word| {
            Ok(
                json!({"feature": "F", "task": word, "turn": 1, "player_decision": "p", "coach_decision": "revise", "progress_summary": word}),
            )
        },
        records: |_, answer, word| vec![holds(text(answer, "path"), &[word])],
    },
    WritingVerb {
        tool: "twining_features",
        case: "add",
        prepare: |_, word| Ok(json!({"action": "add", "id": word, "description": "d"})),
        records: |_, _, word| vec![holds("features.json", &[word])],
    },
    WritingVerb {
        tool: "twining_features",
        case: "update",
        prepare: |caller, word| {
            caller.call(
                "twining_features",
                &json!({"action": "add", "id": format!("F-{word}"), "description": "d"}),
            )?;
            Ok(
                json!({"action": "update", "id": format!("F-{word}"), "description": format!("new-{word}")}),
            )
        },
        records: |given, _, word| {
            vec![holds("features.json", &[text(given, "id"), &format!("new-{word}")])]
        },
    },
    WritingVerb {
        tool: "twining_report",
        case: "",
        prepare: |caller, word| {
            caller.call(
                "twining_features",
                &json!({"action": "add", "id": word, "description": "d"}),
            )?;
            Ok(json!({"feature": word, "role": "coder", "outcome": "started"}))
        },
        records: |_, _, word| vec![holds("features.json", &[word, "\"status\":\"in_progress\""])],
    },
    WritingVerb {
        tool: "twining_store_trace",
        case: "",
        prepare: |_, word| Ok(json!({"type": "correction", "what_happened": word})),
        records: |_, answer, word| vec![holds("traces.jsonl", &[text(answer, "id"), word])],
    },
    WritingVerb {
        tool: "twining_create_guard",
        case: "",
        prepare: |caller, word| {
            // A pattern makes one guard.
            drop(std::fs::remove_file(caller.project().join(".twining/policy.yml")));
            Ok(json!({"pattern": pattern(caller)?, "id": word}))
        },
        records: |_, _, word| vec![holds("policy.yml", &[word]), holds("traces.jsonl", &[word])],
    },
    WritingVerb {
        tool: "twining_register",
        case: "",
        prepare: |_, word| Ok(json!({"agent_id": word, "capabilities": ["rust"]})),
        records: |_, _, word| vec![holds("agents/registry.json", &[word])],
    },
    WritingVerb {
        tool: "twining_delegate",
        case: "",
        prepare: |_, word| Ok(json!({"summary": word, "required_capabilities": ["rust"]})),
        records: |_, answer, word| vec![holds("blackboard.jsonl", &[text(answer, "id"), word])],
    },
    WritingVerb {
        tool: "twining_handoff",
        case: "",
        prepare: |_, word| Ok(handoff(word)),
        records: |_, answer, word| {
            let id = text(answer, "id");
            vec![
                holds(format!("handoffs/{id}.json"), &[id, word]),
                holds("handoffs/index.jsonl", &[id, word]),
                holds("blackboard.jsonl", &[word]),
            ]
        },
    },
    WritingVerb {
        tool: "twining_acknowledge",
        case: "",
        prepare: |caller, word| {
            let id = caller.call("twining_handoff", &handoff("take this"))?["id"].take();
            Ok(json!({"handoff_id": id, "agent_id": word}))
        },
        records: |given, _, word| {
            let id = text(given, "handoff_id");
            vec![
                holds(format!("handoffs/{id}.json"), &[word]),
                holds("handoffs/index.jsonl", &[id, "\"acknowledged\":true"]),
            ]
        },
    },
    WritingVerb {
        tool: "twining_archive",
        case: "",
        prepare: |caller, word| {
            caller.call("twining_post", &json!({"entry_type": "finding", "summary": word}))?;
            // An archive takes what is older than the millisecond in which it is asked for.
            std::thread::sleep(std::time::Duration::from_millis(2));
            Ok(json!({}))
        },
        records: |_, _, word| vec![holds("blackboard.jsonl", &["\"tags\":[\"archive\"]", word])],
    },
    WritingVerb {
        tool: "twining_verify",
        case: "",
        prepare: |_, word| Ok(json!({"scope": format!("src/{word}.rs")})),
        records: |_, _, word| {
            vec![holds("blackboard.jsonl", &["\"entry_type\":\"finding\"", word])]
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_fits_if_one_of_the_file_has_all_texts() {
        let trail = holds("features.json", &["F1", "\"status\":\"tested\""]);
        assert!(
            trail.fits("[{\n  \"id\": \"F1\",\n  \"status\": \"tested\"\n}, {\"id\": \"F2\"}]")
        );
        assert!(
            !trail.fits("[{\"id\": \"F1\"}, {\"id\": \"F2\", \"status\": \"tested\"}]"),
            "of two records"
        );
        assert!(!trail.fits(""));
        assert!(ExpectedRecord { is_there: false, ..trail }.fits(""));
    }
}
