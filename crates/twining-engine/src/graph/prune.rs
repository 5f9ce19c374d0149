//! Pruning: entities without any relation, and relations without an end.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::Change;
use twining_store::View;

use crate::failure::Failure;

/// Entities that are listed; the rest are counted.
const LISTED: usize = 100;
/// What one call takes out at most, of each kind.
const AT_A_TIME: usize = 10_000;

/// How to prune.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneInput {
    /// Only list, do not remove; default true
    pub dry_run: Option<bool>,
    /// Your name
    pub agent_id: Option<String>,
}

/// An entity to remove.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PrunedEntity {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
}

/// What was pruned, or would be.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PruneOutcome {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Entities without a relation, at most 100 listed.
    pub removed_entities: Vec<PrunedEntity>,
    /// How many of them.
    pub removed_entity_count: u64,
    /// Relations missing an end.
    pub removed_relation_count: u64,
    /// Why something was not pruned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a pruning would take out.
pub fn prunable(view: &View<'_>) -> Result<PruneOutcome, Failure> {
    Ok(PruneOutcome { dry_run: true, ..plan_prune(view)?.1 })
}

/// Plans the pruning.
pub fn plan_prune(view: &View<'_>) -> Result<(Change, PruneOutcome), Failure> {
    // What cannot be read may be the very end that seems to be missing.
    let unreadable: BTreeSet<String> = view
        .unreadable()?
        .into_iter()
        .map(|part| part.file)
        .filter(|file| file.starts_with("graph/"))
        .collect();
    let is_readable = unreadable.is_empty();
    let entities = if is_readable { view.graph().disconnected(AT_A_TIME)? } else { Vec::new() };
    let relations = if is_readable { view.graph().dangling(AT_A_TIME)? } else { Vec::new() };
    let note = (!is_readable).then(|| {
        let files: Vec<String> = unreadable.into_iter().collect();
        format!(
            "nothing is pruned while part of {} cannot be read; twining doctor names the lines",
            files.join(" and ")
        )
    });
    let change = Change {
        removed_entities: entities.iter().map(|entity| entity.id.clone()).collect(),
        removed_relations: relations.into_iter().map(|relation| relation.id).collect(),
        ..Change::default()
    };
    let outcome = PruneOutcome {
        dry_run: false,
        note,
        removed_entity_count: change.removed_entities.len() as u64,
        removed_relation_count: change.removed_relations.len() as u64,
        removed_entities: entities
            .into_iter()
            .take(LISTED)
            .map(|entity| PrunedEntity { id: entity.id, name: entity.name, kind: entity.kind })
            .collect(),
    };
    Ok((change, outcome))
}
