//! Adding an entity, or what is newly known of one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use twining_model::{Change, Entity, EntityType, InvalidInput, ProjectRoot, Scope, text};
use twining_store::View;

use crate::caller::Stamp;
use crate::failure::Failure;
use crate::graph::resolve::{merged, properties};
use crate::hygiene::{Redaction, redact_fields};
use crate::input::ENTITY_TYPES;

/// Which entity to add, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddEntityInput {
    /// What people call it
    pub name: String,
    /// What it is
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ENTITY_TYPES))]
    pub kind: String,
    /// What is known of it
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(AddEntityInput { name, properties });

/// What was added.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AddEntityOutcome {
    /// The entity.
    pub id: String,
    /// False if it was there already.
    pub created: bool,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// An entity to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityDraft {
    name: String,
    kind: EntityType,
    properties: BTreeMap<String, String>,
}

impl EntityDraft {
    /// Checks every word. A file inside the project goes by its relative path,
    /// which is how decisions name it.
    pub fn parse(input: &AddEntityInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        let kind = EntityType::parse("type", input.kind.trim())?;
        let mut name = text::name("name", &input.name)?;
        if kind == EntityType::File
            && let Ok(path) = Scope::parse("name", &name, root)
        {
            name = path.to_string();
        }
        Ok(Self { name, kind, properties: properties(&input.properties)? })
    }
}

/// Plans an entity: made if its name and type are new, else its properties join
/// those there. Nothing new is nothing written.
pub fn plan_add_entity(view: &View<'_>, draft: &EntityDraft, stamp: &Stamp<'_>) -> Result<(Change, AddEntityOutcome), Failure> {
    let mut change = Change::default();
    let now = stamp.at.to_string();
    let (entity, created) = match view.graph().named_as(&draft.name, draft.kind.as_str())? {
        Some(old) => {
            let properties = merged(&old.properties, &draft.properties)?;
            if properties == old.properties {
                return Ok((change, AddEntityOutcome { id: old.id, created: false, redacted: Vec::new() }));
            }
            // Whoever adds to it answers for what it says now.
            let (agent_id, origin) = (Some(stamp.caller.agent.clone()), Some(stamp.caller.origin.clone()));
            (Entity { properties, updated_at: now, agent_id, origin, ..old }, false)
        }
        None => (new_entity(&draft.name, draft.kind, draft.properties.clone(), stamp), true),
    };
    let added = AddEntityOutcome { id: entity.id.clone(), created, redacted: Vec::new() };
    change.entities.push(entity);
    Ok((change, added))
}

pub(crate) fn new_entity(name: &str, kind: EntityType, properties: BTreeMap<String, String>, stamp: &Stamp<'_>) -> Entity {
    let now = stamp.at.to_string();
    Entity {
        id: stamp.ids.next().into(),
        name: name.to_owned(),
        kind: kind.as_str().to_owned(),
        properties,
        created_at: now.clone(),
        updated_at: now,
        agent_id: Some(stamp.caller.agent.clone()),
        origin: Some(stamp.caller.origin.clone()),
        extra: Map::new(),
    }
}
