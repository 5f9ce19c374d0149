//! The sets: records, questions, tasks, facts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// What can go wrong, for people.
pub(crate) type EvalOutcome<T> = Result<T, Box<dyn std::error::Error>>;

/// One set.
pub(crate) struct EvalSet {
    pub corpus: Vec<Value>,
    pub queries: Vec<Value>,
    pub tasks: Vec<Value>,
    pub truth: Vec<Value>,
}

/// The names of the sets in a folder.
pub(crate) fn names(dir: &Path) -> EvalOutcome<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(dir)?
        .flatten()
        .filter(|entry| entry.path().join("corpus.jsonl").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

impl EvalSet {
    /// Reads a set; a file that is not there is empty.
    pub(crate) fn read(dir: &Path) -> EvalOutcome<Self> {
        let lines = |name: &str| -> EvalOutcome<Vec<Value>> {
            let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
            Ok(text
                .lines()
                .filter(|line| !line.is_empty())
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()?)
        };
        Ok(Self {
            corpus: lines("corpus.jsonl")?,
            queries: lines("queries.jsonl")?,
            tasks: lines("tasks.jsonl")?,
            truth: lines("truth.jsonl")?,
        })
    }

    /// The stores of this set.
    pub(crate) fn stores(&self) -> Vec<String> {
        let mut stores: Vec<String> =
            self.corpus.iter().map(|record| text(record, "store").to_owned()).collect();
        stores.sort();
        stores.dedup();
        stores
    }
}

/// Those of a store.
pub(crate) fn of<'a>(rows: &'a [Value], store: &'a str) -> impl Iterator<Item = &'a Value> {
    rows.iter().filter(move |row| text(row, "store") == store)
}

/// A field that is a text.
pub(crate) fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

/// A field that is a list of texts.
pub(crate) fn texts(row: &Value, field: &str) -> Vec<String> {
    row[field]
        .as_array()
        .map(|list| list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
        .unwrap_or_default()
}

/// Writes a store's records as a project's files.
pub(crate) fn write(project: &Path, records: &[&Value]) -> EvalOutcome<()> {
    let folder = project.join(".twining");
    fs::create_dir_all(folder.join("decisions"))?;
    let mut board = String::new();
    for record in records {
        let given = |field: &str, default: Value| record.get(field).cloned().unwrap_or(default);
        let (id, scope, agent) = (
            text(record, "id"),
            given("scope", "project".into()),
            given("agent_id", "main".into()),
        );
        if text(record, "kind") == "post" {
            let entry = json!({
                "id": id, "timestamp": record["timestamp"], "agent_id": agent, "entry_type": given("entry_type", "finding".into()),
                "tags": given("tags", json!([])), "scope": scope, "summary": record["summary"], "detail": given("detail", "".into()),
            });
            board.push_str(&format!("{entry}\n"));
            continue;
        }
        let mut decision = json!({
            "id": id, "timestamp": record["timestamp"], "agent_id": agent, "domain": record["domain"], "scope": scope,
            "summary": record["summary"], "context": record["context"], "rationale": record["rationale"], "constraints": [],
            "alternatives": given("alternatives", json!([])), "depends_on": given("depends_on", json!([])),
            "confidence": given("confidence", "medium".into()), "status": given("status", "active".into()), "reversible": true,
            "affected_files": given("affected_files", json!([])), "affected_symbols": given("affected_symbols", json!([])),
            "commit_hashes": [],
        });
        if let Some(old) = record.get("supersedes") {
            decision["supersedes"] = old.clone();
        }
        fs::write(folder.join("decisions").join(format!("{id}.json")), decision.to_string())?;
        // As `decide` announces it, under an id of its own.
        let announced: String = id.chars().take(10).chain(id.chars().rev().take(16)).collect();
        let entry = json!({
            "id": announced, "timestamp": record["timestamp"], "agent_id": agent, "entry_type": "decision", "tags": [record["domain"]],
            "relates_to": [id], "scope": scope, "summary": record["summary"], "detail": record["rationale"],
        });
        board.push_str(&format!("{entry}\n"));
    }
    fs::write(folder.join("blackboard.jsonl"), board)?;
    Ok(())
}
