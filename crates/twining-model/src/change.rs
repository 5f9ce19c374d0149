//! A change: everything one write does to the store, planned before any of it is done.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::anchor::Anchor;
use crate::decision::Decision;
use crate::entry::Entry;
use crate::graph::{Entity, Relation};
use crate::id::Id;
use crate::trace::Trace;

/// Fields to set on a decision that exists. Setting is idempotent, so a change
/// may be carried out again after a crash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amendment {
    /// Which decision.
    pub id: Id,
    /// Field by field, the value from now on.
    pub set: Map<String, Value>,
    /// The values that these fields had, where the amendment may be carried out later than it was
    /// planned; a field that is in neither did not exist.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub was: Map<String, Value>,
}

impl Amendment {
    /// Sets these fields of a decision.
    #[must_use]
    pub fn new(id: Id, set: Map<String, Value>) -> Self {
        Self { id, set, was: Map::new() }
    }
}

/// A document that is replaced as a whole: policy, feature list, knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentText {
    /// Its path from the project's folder.
    pub path: String,
    /// All of it from now on.
    pub text: String,
}

/// A handoff as it is from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffFile {
    /// Which one.
    pub id: Id,
    /// Its file.
    pub text: String,
    /// Its line in the list of handoffs.
    pub line: String,
}

/// A turn's file as it is from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFile {
    /// The feature's folder.
    pub feature: String,
    /// The task's folder.
    pub task: String,
    /// The turn's number.
    pub number: u32,
    /// Its text; none if it goes.
    pub text: Option<String>,
}

/// What one write does, to records of every kind. All of it happens, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Lines for the blackboard, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
    /// New decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Changed decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amendments: Vec<Amendment>,
    /// Entities as they are from now on, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    /// Relations as they are from now on, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    /// Ids of entities that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_entities: Vec<String>,
    /// Ids of relations that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_relations: Vec<String>,
    /// Ids of entries that leave the blackboard for the archive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<String>,
    /// Elements of the registry of agents, as JSON, by the agent's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, String>,
    /// Handoffs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandoffFile>,
    /// Turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<TurnFile>,
    /// Traces of what happened here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Trace>,
    /// Traces that came from elsewhere: nobody here vouches for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported_traces: Vec<Trace>,
    /// Which code records speak of, and what was seen there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// Policy, feature list, knowledge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentText>,
    /// Of this machine only: lines about test runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// Of this machine only: who holds what, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// Of this machine only: when agents last called, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<String>,
}

impl Change {
    /// Entries, and nothing else.
    #[must_use]
    pub fn of_entries(entries: Vec<Entry>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// A document, and nothing else; nothing at all where there is no text.
    #[must_use]
    pub fn of_document(path: &str, text: Option<String>) -> Self {
        let documents =
            text.map(|text| DocumentText { path: path.to_owned(), text }).into_iter().collect();
        Self { documents, ..Self::default() }
    }

    /// Splits it into its shared part and that of this working tree and machine.
    #[must_use]
    pub fn split_shared(mut self) -> (Self, Self) {
        let local = Self {
            documents: std::mem::take(&mut self.documents),
            runs: std::mem::take(&mut self.runs),
            claims: self.claims.take(),
            presence: self.presence.take(),
            ..Self::default()
        };
        (self, local)
    }

    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether it is one write to one file, which happens whole or not at all by itself:
    /// lines for one file, or one file that is replaced.
    #[must_use]
    pub fn is_one_write(&self) -> bool {
        let Self {
            entries,
            decisions,
            amendments,
            entities,
            relations,
            removed_entities,
            removed_relations,
            archived,
            agents,
            handoffs,
            turns,
            traces,
            imported_traces,
            anchors,
            documents,
            runs,
            claims,
            presence,
        } = self;
        // Decisions and the graph are in several files each, and so is a handoff.
        let in_several = decisions.len()
            + amendments.len()
            + entities.len()
            + relations.len()
            + removed_entities.len()
            + removed_relations.len()
            + archived.len()
            + handoffs.len();
        let lines = [
            entries.is_empty(),
            traces.is_empty(),
            imported_traces.is_empty(),
            anchors.is_empty(),
            runs.is_empty(),
            agents.is_empty(),
        ];
        let files = turns.len()
            + documents.len()
            + usize::from(claims.is_some())
            + usize::from(presence.is_some());
        in_several == 0 && lines.into_iter().filter(|is_empty| !is_empty).count() + files <= 1
    }
}
