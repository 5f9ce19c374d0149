//! Namesakes: two branches may each have made the entity of one name and type, and
//! a merge keeps both. Whoever asks meets one: the oldest, with what all of them say
//! and all their relations.

use twining_model::Entity;
use twining_store::{GraphEdge, StoreError, View};

/// The entity with this id and its namesakes, the oldest first; none if there is none.
pub(crate) fn namesakes(view: &View<'_>, id: &str) -> Result<Vec<Entity>, StoreError> {
    let Some(entity) = view.graph().entity(id)? else { return Ok(Vec::new()) };
    let mut all = view.graph().named(&entity.name)?;
    all.retain(|other| other.kind == entity.kind);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(if all.is_empty() { vec![entity] } else { all })
}

/// The one that stands for all of them.
pub(crate) fn joined(mut namesakes: Vec<Entity>) -> Option<Entity> {
    if namesakes.len() < 2 {
        return namesakes.pop();
    }
    let first = namesakes.first().map(|entity| (entity.id.clone(), entity.created_at.clone()))?;
    namesakes.sort_by(|one, other| (&one.updated_at, &one.id).cmp(&(&other.updated_at, &other.id)));
    let mut properties = std::collections::BTreeMap::new();
    namesakes.iter().for_each(|entity| properties.extend(entity.properties.clone()));
    let (id, created_at) = first;
    namesakes.pop().map(|latest| Entity { id, created_at, properties, ..latest })
}

/// The entity that stands for the one with this id.
pub(crate) fn one(view: &View<'_>, id: &str) -> Result<Option<Entity>, StoreError> {
    namesakes(view, id).map(joined)
}

/// Relations of an entity and of its namesakes, at most so many.
pub(crate) fn edges(
    view: &View<'_>,
    id: &str,
    kinds: &[String],
    most: usize,
) -> Result<Vec<GraphEdge>, StoreError> {
    let namesakes = namesakes(view, id)?;
    if namesakes.len() < 2 {
        return view.graph().edges(id, kinds, most);
    }
    let mut found = Vec::new();
    for entity in namesakes {
        found.extend(view.graph().edges(&entity.id, kinds, most.saturating_sub(found.len()))?);
    }
    Ok(found)
}
