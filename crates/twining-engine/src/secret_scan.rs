//! Scans existing data for secrets: files from elsewhere did not pass through our redaction.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use twining_model::Handoff;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::record_walk::{each_decision, each_entry};
use crate::secrets::secrets_in;

/// Anchors read at a time.
const BATCH: usize = 500;
/// Entities that are looked at.
const ENTITIES: usize = 100_000;
/// Finds that are named.
const NAMED: usize = 100;

/// A secret in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretFinding {
    /// The file, inside `.twining`.
    pub file: String,
    /// The record.
    pub id: String,
    /// The field.
    pub field: String,
    /// What it is.
    pub kind: String,
}

/// What a secret scan found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretScan {
    /// Records scanned.
    pub records: u64,
    /// Secrets in all.
    pub secrets: u64,
    /// The first of them.
    pub found: Vec<SecretFinding>,
}

impl SecretScan {
    /// Looks at every field of a record.
    fn scan_texts(&mut self, file: &str, id: &str, record: &impl Serialize) {
        self.records += 1;
        let Ok(Value::Object(fields)) = serde_json::to_value(record) else { return };
        for (field, value) in fields {
            for secret in secrets_in(&plain_text(&value)) {
                self.secrets += 1;
                if self.found.len() < NAMED {
                    let (file, id, kind) = (file.to_owned(), id.to_owned(), secret.kind.to_owned());
                    self.found.push(SecretFinding { file, id, field: field.clone(), kind });
                }
            }
        }
    }
}

/// What a value says without the escapes of JSON, which hide the names that secrets are assigned to.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(plain_text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("{key}: {}", plain_text(value)))
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_string(),
    }
}

impl Engine {
    /// Scans entries, decisions, entities, anchors, agents, handoffs and knowledge for secrets,
    /// regardless of author.
    pub fn scan_secrets(&self) -> Result<SecretScan, Failure> {
        let mut scan = SecretScan::default();
        self.store().view(|view| {
            each_entry(view, |entry, _| {
                scan.scan_texts("blackboard.jsonl", &entry.id, &entry);
                Ok(())
            })?;
            each_decision(view, |decision, _| {
                let file = format!("decisions/{}.json", decision.id);
                scan.scan_texts(&file, decision.id.as_str(), &decision);
                Ok(())
            })?;
            view.graph()
                .page(ENTITIES)?
                .items
                .iter()
                .for_each(|entity| scan.scan_texts("graph/entities.json", &entity.id, entity));
            let mut anchors = view.anchors().page(None, BATCH)?;
            while let Some(last) = anchors.last() {
                for anchor in &anchors {
                    // The rest is hashes.
                    let words = json!({ "words": anchor.words });
                    scan.scan_texts("anchors.jsonl", &anchor.id, &words);
                }
                anchors = view.anchors().page(Some(last), BATCH)?;
            }
            Ok::<_, Failure>(())
        })?;
        let agent_files = self.store().documents().agents()?;
        for (_, agent) in agent_files.registered().elements {
            let agent: Value = serde_json::from_str(&agent).unwrap_or_default();
            scan.scan_texts(
                "agents/registry.json",
                &fields::clip(agent["agent_id"].as_str().unwrap_or_default(), 80),
                &agent,
            );
        }
        // Other checks report a file elsewhere that only a person can fix.
        if let Some((path, bytes)) = self
            .store()
            .documents()
            .knowledge()
            .ok()
            .and_then(|file| Some((file.path, file.bytes?)))
        {
            for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
                if !secrets_in(line).is_empty() {
                    scan.scan_texts(&path, &format!("line {number}"), &json!({ "text": line }));
                }
            }
        }
        for id in agent_files.handoff_ids()? {
            if let Some(handoff) = agent_files
                .handoff(&id)
                .ok()
                .flatten()
                .and_then(|bytes| serde_json::from_slice::<Handoff>(&bytes).ok())
            {
                scan.scan_texts(&format!("handoffs/{}.json", handoff.id), &handoff.id, &handoff);
            }
        }
        Ok(scan)
    }
}
