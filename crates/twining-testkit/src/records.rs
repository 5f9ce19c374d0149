//! Records with nothing special about them.

use std::collections::BTreeMap;

use serde_json::Map;
use twining_model::{
    Anchor, AnchorEvent, AnchorRole, AnchoredRecord, Confidence, Decision, DecisionStatus, Entity,
    Entry, IdSource, Relation, SeenCode,
};

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

/// A function that a record was made for, or a file.
#[must_use]
pub fn anchor(ids: &IdSource, of: &AnchoredRecord, at: &str) -> Anchor {
    let at = at.parse().expect("a place in the project");
    let id = ids.next().to_string();
    Anchor {
        kind: "function".to_owned(),
        seen: SeenCode {
            blob: "9f3c0b4e9f3c0b4e9f3c0b4e9f3c0b4e9f3c0b4e".to_owned(),
            commit: Some("3fa2b1c03fa2b1c03fa2b1c03fa2b1c03fa2b1c0".to_owned()),
            ..SeenCode::default()
        },
        v: 1,
        sig: "9c1d04e2b7a65f10".to_owned(),
        body: "07fe11d2a94c3b58".to_owned(),
        tokens: 214,
        words: vec!["bcrypt".to_owned()],
        timestamp: ids.now().to_string(),
        agent_id: "tester".to_owned(),
        ..Anchor::new(id, of.clone(), at, AnchorRole::Affected, AnchorEvent::Made)
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
