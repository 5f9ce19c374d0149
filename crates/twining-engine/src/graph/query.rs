//! Finding entities by a part of their name or of what is known of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entity, EntityType, InvalidInput, limits};
use twining_store::View;

use crate::answer::fit_reply;
use crate::failure::Failure;
use crate::graph::kin;
use crate::input::ENTITY_TYPES;
use crate::words;

/// Which entities to find.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphQueryInput {
    /// Part of a name or property
    pub query: String,
    /// Only these types
    #[serde(default)]
    #[schemars(extend("x-offered" = ENTITY_TYPES))]
    pub entity_types: Vec<String>,
    /// Default 10
    pub limit: Option<usize>,
}

/// The entities found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphQueryOutcome {
    /// Exact names first.
    pub entities: Vec<Entity>,
    /// Whether there are more.
    pub truncated: bool,
}

/// The entities whose name or properties hold the words, exact names first.
pub fn graph_query(view: &View<'_>, input: &GraphQueryInput) -> Result<GraphQueryOutcome, Failure> {
    let query = words::query("query", &input.query)?;
    let kinds = entity_types(&input.entity_types)?;
    let (found, more) = view.graph().find(&query, &kinds, words::page("limit", input.limit, 10)?)?;
    let mut entities: Vec<Entity> = Vec::with_capacity(found.len());
    for entity in found {
        let entity = kin::one(view, &entity.id)?.unwrap_or(entity);
        if entities.iter().all(|known| known.id != entity.id) {
            entities.push(entity);
        }
    }
    let (entities, cut) = fit_reply(entities);
    Ok(GraphQueryOutcome { entities, truncated: more || cut })
}

fn entity_types(given: &[String]) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("entity_types", given, limits::LIST)?;
    given.iter().map(|word| Ok(EntityType::parse("entity_types", word.trim())?.as_str().to_owned())).collect()
}
