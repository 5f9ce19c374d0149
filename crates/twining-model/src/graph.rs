//! The observed graph: what the code is made of, and what hangs together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::Origin;
use crate::string_enums::words;

words! {
    /// What an entity is. `agent` and `commit` came with later versions of the format.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum EntityType {
        Module = "module", Function = "function", Class = "class", File = "file", Concept = "concept",
        Pattern = "pattern", Dependency = "dependency", ApiEndpoint = "api_endpoint", Agent = "agent", Commit = "commit",
    }
}

words! {
    /// How two entities hang together. The last three came with later versions of the format.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum RelationType {
        DependsOn = "depends_on", Implements = "implements", DecidedBy = "decided_by", Affects = "affects",
        TestedBy = "tested_by", Calls = "calls", Imports = "imports", RelatedTo = "related_to",
        Supersedes = "supersedes", Produces = "produces", Challenged = "challenged",
    }
}

/// A thing in the code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// ULID.
    pub id: String,
    /// What people call it; unique together with its type.
    #[serde(default)]
    pub name: String,
    /// What it is.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Its properties.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// When it was first seen.
    #[serde(default)]
    pub created_at: String,
    /// When it last changed.
    #[serde(default)]
    pub updated_at: String,
    /// Who wrote it last, by the name they gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Who wrote it last, as seen by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// A directed edge between two entities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relation {
    /// ULID.
    pub id: String,
    /// The entity it starts from.
    #[serde(default)]
    pub source: String,
    /// The entity it points to.
    #[serde(default)]
    pub target: String,
    /// How they are related.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Its properties.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// When it was first seen.
    #[serde(default)]
    pub created_at: String,
    /// Who wrote it last, by the name they gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Who wrote it last, as seen by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}
