//! A change: everything one write does to the store, planned before any of it is done.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decision::Decision;
use crate::entry::Entry;
use crate::graph::{Entity, Relation};
use crate::id::Id;

/// Fields to set on a decision that exists. Setting is idempotent, so a change
/// may be carried out again after a crash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amendment {
    /// Which decision.
    pub id: Id,
    /// Field by field, the value from now on.
    pub set: Map<String, Value>,
}

/// What one write does. All of it happens, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Lines for the blackboard, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
    /// New decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Changed decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amendments: Vec<Amendment>,
    /// Entities as they are from now on, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    /// Relations as they are from now on, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    /// Ids of entities that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_entities: Vec<String>,
    /// Ids of relations that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_relations: Vec<String>,
}

impl Change {
    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether all it does is add lines to the blackboard, which one write to one
    /// file can do and no journal is needed for.
    #[must_use]
    pub fn is_only_entries(&self) -> bool {
        let Self { entries: _, decisions, amendments, entities, relations, removed_entities, removed_relations } = self;
        decisions.is_empty()
            && amendments.is_empty()
            && entities.is_empty()
            && relations.is_empty()
            && removed_entities.is_empty()
            && removed_relations.is_empty()
    }
}
