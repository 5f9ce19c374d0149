//! Records with nothing special about them.

use std::collections::BTreeMap;

use serde_json::Map;
use twining_model::{Confidence, Decision, DecisionStatus, Entity, Entry, IdSource, Relation};

/// A finding in `src/`.
#[must_use]
pub fn entry(ids: &IdSource, summary: &str) -> Entry {
    Entry {
        id: ids.next().to_string(),
        timestamp: ids.now().to_string(),
        agent_id: "tester".to_owned(),
        entry_type: "finding".to_owned(),
        tags: vec!["test".to_owned()],
        relates_to: Vec::new(),
        scope: "src/".to_owned(),
        summary: summary.to_owned(),
        detail: "detail".to_owned(),
        origin: None,
        extra: Map::new(),
    }
}

/// An active decision in `src/`.
#[must_use]
pub fn decision(ids: &IdSource, summary: &str) -> Decision {
    Decision {
        id: ids.next(),
        timestamp: ids.now().to_string(),
        agent_id: "tester".to_owned(),
        domain: "data".to_owned(),
        scope: "src/".to_owned(),
        summary: summary.to_owned(),
        context: "context".to_owned(),
        rationale: "because".to_owned(),
        constraints: Vec::new(),
        alternatives: Vec::new(),
        depends_on: Vec::new(),
        supersedes: None,
        superseded_by: None,
        confidence: Confidence::Medium,
        status: DecisionStatus::Active,
        reversible: true,
        affected_files: vec!["src/a.rs".to_owned()],
        affected_symbols: Vec::new(),
        commit_hashes: Vec::new(),
        commits: Vec::new(),
        overridden_by: None,
        override_reason: None,
        override_authority: None,
        compatible_with: Vec::new(),
        history: Vec::new(),
        assembled_before: None,
        origin: None,
        extra: Map::new(),
    }
}

/// A concept.
#[must_use]
pub fn entity(ids: &IdSource, name: &str) -> Entity {
    Entity {
        id: ids.next().to_string(),
        name: name.to_owned(),
        kind: "concept".to_owned(),
        properties: BTreeMap::new(),
        created_at: ids.now().to_string(),
        updated_at: ids.now().to_string(),
        agent_id: None,
        origin: None,
        extra: Map::new(),
    }
}

/// `source` is related to `target`.
#[must_use]
pub fn relation(ids: &IdSource, source: &str, target: &str) -> Relation {
    Relation {
        id: ids.next().to_string(),
        source: source.to_owned(),
        target: target.to_owned(),
        kind: "related_to".to_owned(),
        properties: BTreeMap::new(),
        created_at: ids.now().to_string(),
        agent_id: None,
        origin: None,
        extra: Map::new(),
    }
}
