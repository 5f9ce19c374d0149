//! Which entity a caller means: by id, else by a name that only one has.

use std::collections::BTreeMap;

use twining_model::{Entity, Id, InvalidInput, ProjectRoot, RelationType, Scope, limits, text};
use twining_store::View;

use crate::failure::{EntityCandidate, Failure};

/// The entity that `given` names.
pub(crate) fn resolve(view: &View<'_>, field: &'static str, given: &str, root: &ProjectRoot) -> Result<Entity, Failure> {
    let given = text::name(field, given)?;
    let id = Id::read(&given).map_or_else(|| given.clone(), String::from);
    if let Some(entity) = view.graph().entity(&id)? {
        return Ok(entity);
    }
    let mut named = view.graph().named(&given)?;
    if named.is_empty() {
        // Agents give files by absolute path; the graph knows them relative to the project.
        if let Ok(path) = Scope::parse(field, &given, root) {
            named = view.graph().named(path.as_str())?;
        }
    }
    // Two branches may each have made the same entity; a merge keeps both, and the older is meant.
    named.sort_by(|a, b| (&a.kind, &a.id).cmp(&(&b.kind, &b.id)));
    named.dedup_by(|younger, older| younger.kind == older.kind);
    match named.len() {
        0 => Err(Failure::no_entity(&given)),
        1 => Ok(named.remove(0)),
        _ => Err(Failure::Ambiguous { name: text::excerpt(&given, 80), candidates: named.into_iter().map(candidate).collect() }),
    }
}

/// Takes the relation types that a walk may follow; all if none is given.
pub(crate) fn relation_types(given: &[String]) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("relation_types", given, limits::LIST)?;
    given.iter().map(|word| Ok(RelationType::parse("relation_types", word.trim())?.as_str().to_owned())).collect()
}

/// Takes the properties of an entity or a relation.
pub(crate) fn properties(given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, InvalidInput> {
    if given.len() > limits::PROPERTIES {
        return Err(InvalidInput::new("properties", format!("may have at most {} elements", limits::PROPERTIES))
            .because(format!("{} were given", given.len())));
    }
    let mut result = BTreeMap::new();
    for (key, value) in given {
        text::bounded("properties", value, limits::PROPERTY_BYTES)?;
        text::bounded("properties", key, limits::PROPERTY_BYTES)?;
        if key.trim().is_empty() {
            return Err(InvalidInput::new("properties", "must not have an empty key"));
        }
        result.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    Ok(result)
}

/// The properties there are with those given on top.
pub(crate) fn merged(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, InvalidInput> {
    let mut all = old.clone();
    all.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
    if all.len() > limits::PROPERTIES && all.len() > old.len() {
        return Err(InvalidInput::new("properties", format!("may have at most {} elements", limits::PROPERTIES))
            .because(format!("with those there already it would be {}", all.len())));
    }
    Ok(all)
}

fn candidate(entity: Entity) -> EntityCandidate {
    EntityCandidate { id: entity.id, name: entity.name, kind: entity.kind }
}
