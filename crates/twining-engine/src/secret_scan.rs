//! Looking for secrets in what is there already: files that came from elsewhere
//! went through no door of ours.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use twining_model::{Decision, Entity, Entry, Handoff};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::secrets_in;
use crate::words;

/// Records read at a time.
const BATCH: usize = 500;
/// Entities that are looked at.
const ENTITIES: usize = 100_000;
/// Finds that are named.
const NAMED: usize = 100;

/// A secret in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretFound {
    /// The file, inside `.twining`.
    pub file: String,
    /// The record.
    pub id: String,
    /// The field.
    pub field: String,
    /// What it is.
    pub kind: String,
}

/// What a look through the memory found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretsScan {
    /// Records looked at.
    pub records: u64,
    /// Secrets in all.
    pub secrets: u64,
    /// The first of them.
    pub found: Vec<SecretFound>,
}

impl SecretsScan {
    fn look(&mut self, file: &str, id: &str, texts: &[(&str, &str)]) {
        self.records += 1;
        for (field, text) in texts {
            for secret in secrets_in(text) {
                self.secrets += 1;
                if self.found.len() < NAMED {
                    self.found.push(SecretFound {
                        file: file.to_owned(),
                        id: id.to_owned(),
                        field: (*field).to_owned(),
                        kind: secret.kind.to_owned(),
                    });
                }
            }
        }
    }

    fn entry(&mut self, entry: &Entry) {
        self.look(
            "blackboard.jsonl",
            &entry.id,
            &[("summary", &entry.summary), ("detail", &entry.detail), ("tags", &entry.tags.join("\n"))],
        );
    }

    fn decision(&mut self, decision: &Decision) {
        let options = serde_json::to_string(&decision.alternatives).unwrap_or_default();
        let texts = [
            ("summary", decision.summary.as_str()),
            ("context", &decision.context),
            ("rationale", &decision.rationale),
            ("constraints", &decision.constraints.join("\n")),
            ("alternatives", &options),
        ];
        self.look(&format!("decisions/{}.json", decision.id), decision.id.as_str(), &texts);
    }

    fn entity(&mut self, entity: &Entity) {
        let properties: Vec<String> = entity.properties.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        self.look("graph/entities.json", &entity.id, &[("name", &entity.name), ("properties", &properties.join("\n"))]);
    }

    fn handoff(&mut self, handoff: &Handoff) {
        let results = serde_json::to_string(&handoff.results).unwrap_or_default();
        self.look(&format!("handoffs/{}.json", handoff.id), &handoff.id, &[("summary", &handoff.summary), ("results", &results)]);
    }
}

impl Engine {
    /// Looks through entries, decisions, entities, agents, handoffs and knowledge for secrets, whoever wrote them.
    pub fn scan_secrets(&self) -> Result<SecretsScan, Failure> {
        let mut scan = SecretsScan::default();
        self.store().view(|view| {
            let mut after = None;
            loop {
                let rows = view.entries().senses_after(after, BATCH)?;
                let Some((last, _)) = rows.last() else { break };
                after = Some(*last);
                for (row, _) in rows {
                    scan.entry(&view.entries().at_row(row)?);
                }
            }
            let mut after = None;
            loop {
                let rows = view.decisions().senses_after(after, BATCH)?;
                let Some((last, _)) = rows.last() else { break };
                after = Some(*last);
                for (row, _) in rows {
                    scan.decision(&view.decisions().at_row(row)?);
                }
            }
            view.graph().page(ENTITIES)?.items.iter().for_each(|entity| scan.entity(entity));
            Ok::<_, Failure>(())
        })?;
        let shelf = self.store().documents().agents()?;
        for (_, agent) in shelf.registered().elements {
            let id = serde_json::from_str::<Value>(&agent).ok().and_then(|agent| agent["agent_id"].as_str().map(str::to_owned));
            scan.look("agents/registry.json", &words::clip(&id.unwrap_or_default(), 80), &[("agent", &agent)]);
        }
        // A file elsewhere that only a person can mend is told by other checks.
        if let Some((path, bytes)) = self.store().documents().knowledge().ok().and_then(|file| Some((file.path, file.bytes?))) {
            for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
                if !secrets_in(line).is_empty() {
                    scan.look(&path, &format!("line {number}"), &[("text", line)]);
                }
            }
        }
        for id in shelf.handoff_ids()? {
            if let Some(handoff) = shelf.handoff(&id).ok().flatten().and_then(|bytes| serde_json::from_slice::<Handoff>(&bytes).ok()) {
                scan.handoff(&handoff);
            }
        }
        Ok(scan)
    }
}
