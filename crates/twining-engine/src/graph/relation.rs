//! Adding a relation between two entities that exist.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use twining_model::{Change, InvalidInput, ProjectRoot, Relation, RelationType};
use twining_store::View;

use crate::caller::Stamp;
use crate::failure::Failure;
use crate::graph::resolve::{merged, properties, resolve};
use crate::hygiene::{Redaction, redact_fields};
use crate::input::RELATION_TYPES;

/// Which relation to add, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRelationInput {
    /// Entity id or name
    pub source: String,
    /// Entity id or name
    pub target: String,
    /// How they hang together
    #[serde(rename = "type")]
    #[schemars(extend("enum" = RELATION_TYPES))]
    pub kind: String,
    /// What is known of it
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(AddRelationInput { source, target, properties });

/// What was added.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AddRelationOutcome {
    /// The relation.
    pub id: String,
    /// False if it was there already.
    pub created: bool,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A relation to be; its ends are looked up when it is planned.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationDraft {
    source: String,
    target: String,
    kind: RelationType,
    properties: BTreeMap<String, String>,
}

impl RelationDraft {
    /// Checks every word.
    pub fn parse(input: &AddRelationInput) -> Result<Self, InvalidInput> {
        Ok(Self {
            source: input.source.clone(),
            target: input.target.clone(),
            kind: RelationType::parse("type", input.kind.trim())?,
            properties: properties(&input.properties)?,
        })
    }
}

/// Plans a relation: made if the two are not so related yet, else its properties
/// join those there.
pub fn plan_add_relation(
    view: &View<'_>,
    draft: &RelationDraft,
    root: &ProjectRoot,
    stamp: &Stamp<'_>,
) -> Result<(Change, AddRelationOutcome), Failure> {
    let source = resolve(view, "source", &draft.source, root)?;
    let target = resolve(view, "target", &draft.target, root)?;
    let mut change = Change::default();
    let (relation, created) = match view.graph().relation_between(&source.id, &target.id, draft.kind.as_str())? {
        Some(old) => {
            let properties = merged(&old.properties, &draft.properties)?;
            if properties == old.properties {
                return Ok((change, AddRelationOutcome { id: old.id, created: false, redacted: Vec::new() }));
            }
            let (agent_id, origin) = (Some(stamp.caller.agent.clone()), Some(stamp.caller.origin.clone()));
            (Relation { properties, agent_id, origin, ..old }, false)
        }
        None => (new_relation(&source.id, &target.id, draft.kind, draft.properties.clone(), stamp), true),
    };
    let added = AddRelationOutcome { id: relation.id.clone(), created, redacted: Vec::new() };
    change.relations.push(relation);
    Ok((change, added))
}

pub(crate) fn new_relation(
    source: &str,
    target: &str,
    kind: RelationType,
    properties: BTreeMap<String, String>,
    stamp: &Stamp<'_>,
) -> Relation {
    Relation {
        id: stamp.ids.next().into(),
        source: source.to_owned(),
        target: target.to_owned(),
        kind: kind.as_str().to_owned(),
        properties,
        created_at: stamp.at.to_string(),
        agent_id: Some(stamp.caller.agent.clone()),
        origin: Some(stamp.caller.origin.clone()),
        extra: Map::new(),
    }
}
