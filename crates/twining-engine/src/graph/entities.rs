//! Adding an entity, or what is newly known of one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use twining_model::{
    Change, Entity, EntityType, Id, InvalidInput, ProjectRoot, Relation, RelationType, Scope,
    limits, text,
};
use twining_store::{Durability, GraphEdge, StoreError, View};

use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::{EntityCandidate, Failure};
use crate::graph;
use crate::graph::*;
use crate::secrets::{Redaction, clean, redact_fields};

/// Which entity to add, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddEntityInput {
    /// What people call it
    pub name: String,
    /// What it is
    #[serde(rename = "type")]
    #[schemars(extend("enum" = EntityType::ALL.map(EntityType::as_str)))]
    pub kind: String,
    /// Its properties
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(AddEntityInput { name, properties });

/// What was added.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct AddedOutcome {
    /// The entity or relation.
    pub id: String,
    /// False if it already existed.
    pub created: bool,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// The name of an entity. A file inside the project goes by its relative path, which is how
/// decisions name it.
fn entity_name(given: &str, kind: EntityType, root: &ProjectRoot) -> Result<String, InvalidInput> {
    let name = text::name("name", given)?;
    let path = (kind == EntityType::File).then(|| Scope::parse("name", &name, root).ok());
    Ok(path.flatten().map_or(name, |path| path.to_string()))
}

/// Plans an entity: made if its name and type are new, else its properties join
/// those there. Nothing new is nothing written.
pub(super) fn plan_add_entity(
    view: &View<'_>,
    (name, kind): (&str, EntityType),
    properties: &BTreeMap<String, String>,
    stamp: &Stamp<'_>,
) -> Result<(Change, AddedOutcome), Failure> {
    let mut change = Change::default();
    let now = stamp.at.to_string();
    let (entity, created) = match view.graph().named_as(name, kind.as_str())? {
        Some(old) => {
            let properties = merged(&old.properties, properties)?;
            if properties == old.properties {
                return Ok((change, AddedOutcome { id: old.id, ..AddedOutcome::default() }));
            }
            // The last caller to change it answers for its content.
            let (agent_id, origin) =
                (Some(stamp.caller.agent.clone()), Some(stamp.caller.origin.clone()));
            (Entity { properties, updated_at: now, agent_id, origin, ..old }, false)
        }
        None => (new_entity(name, kind, properties.clone(), stamp), true),
    };
    let added = AddedOutcome { id: entity.id.clone(), created, redacted: Vec::new() };
    change.entities.push(entity);
    Ok((change, added))
}

pub(crate) fn new_entity(
    name: &str,
    kind: EntityType,
    properties: BTreeMap<String, String>,
    stamp: &Stamp<'_>,
) -> Entity {
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

/// Which relation to add, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRelationInput {
    /// Entity id or name
    pub source: String,
    /// Entity id or name
    pub target: String,
    /// How they are related
    #[serde(rename = "type")]
    #[schemars(extend("enum" = RelationType::ALL.map(RelationType::as_str)))]
    pub kind: String,
    /// Its properties
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(AddRelationInput { source, target, properties });

/// Plans a relation: made if the two are not so related yet, else its properties
/// join those there.
pub(super) fn plan_add_relation(
    view: &View<'_>,
    input: &AddRelationInput,
    kind: RelationType,
    properties: &BTreeMap<String, String>,
    root: &ProjectRoot,
    stamp: &Stamp<'_>,
) -> Result<(Change, AddedOutcome), Failure> {
    let source = resolve(view, "source", &input.source, root)?;
    let target = resolve(view, "target", &input.target, root)?;
    let mut change = Change::default();
    let (relation, created) =
        match view.graph().relation_between(&source.id, &target.id, kind.as_str())? {
            Some(old) => {
                let properties = merged(&old.properties, properties)?;
                if properties == old.properties {
                    return Ok((change, AddedOutcome { id: old.id, ..AddedOutcome::default() }));
                }
                let (agent_id, origin) =
                    (Some(stamp.caller.agent.clone()), Some(stamp.caller.origin.clone()));
                (Relation { properties, agent_id, origin, ..old }, false)
            }
            None => (new_relation(&source.id, &target.id, kind, properties.clone(), stamp), true),
        };
    let added = AddedOutcome { id: relation.id.clone(), created, redacted: Vec::new() };
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

/// The entity that `given` names.
pub(crate) fn resolve(
    view: &View<'_>,
    field: &'static str,
    given: &str,
    root: &ProjectRoot,
) -> Result<Entity, Failure> {
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
        _ => Err(Failure::Ambiguous {
            name: text::excerpt(&given, 80),
            candidates: named.into_iter().map(candidate).collect(),
        }),
    }
}

/// Takes the relation types that a walk may follow; all if none is given.
pub(crate) fn relation_types(given: &[String]) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("relation_types", given, limits::LIST)?;
    given
        .iter()
        .map(|word| Ok(RelationType::parse("relation_types", word.trim())?.as_str().to_owned()))
        .collect()
}

/// Takes the properties of an entity or a relation.
pub(crate) fn properties(
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, InvalidInput> {
    if given.len() > limits::PROPERTIES {
        return Err(too_many_properties(format!("{} were given", given.len())));
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

fn too_many_properties(why: String) -> InvalidInput {
    let rule = format!("may have at most {} elements", limits::PROPERTIES);
    InvalidInput::new("properties", rule).because(why)
}

/// The properties there are with those given on top.
pub(crate) fn merged(
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, InvalidInput> {
    let mut all = old.clone();
    all.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
    if all.len() > limits::PROPERTIES && all.len() > old.len() {
        let why = format!("with the existing ones it would have {}", all.len());
        return Err(too_many_properties(why));
    }
    Ok(all)
}

fn candidate(entity: Entity) -> EntityCandidate {
    EntityCandidate { id: entity.id, name: entity.name, kind: entity.kind }
}

/// The entity with this id and its namesakes: two branches may each have made the
/// entity of one name and type, and a merge keeps both. Whoever asks meets one: the
/// oldest, with what all of them say and all their relations. The oldest first; none if there is none.
fn namesakes(view: &View<'_>, id: &str) -> Result<Vec<Entity>, StoreError> {
    let Some(entity) = view.graph().entity(id)? else { return Ok(Vec::new()) };
    let mut all = view.graph().named(&entity.name)?;
    all.retain(|other| other.kind == entity.kind);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(if all.is_empty() { vec![entity] } else { all })
}

/// Merges namesakes into one entity.
fn joined(mut namesakes: Vec<Entity>) -> Option<Entity> {
    if namesakes.len() < 2 {
        return namesakes.pop();
    }
    let first = namesakes.first().map(|entity| (entity.id.clone(), entity.created_at.clone()))?;
    namesakes.sort_by(|one, other| (&one.updated_at, &one.id).cmp(&(&other.updated_at, &other.id)));
    let mut properties = BTreeMap::new();
    namesakes.iter().for_each(|entity| properties.extend(entity.properties.clone()));
    let (id, created_at) = first;
    namesakes.pop().map(|latest| Entity { id, created_at, properties, ..latest })
}

/// The merged entity of this id and its namesakes.
pub(super) fn joined_entity(view: &View<'_>, id: &str) -> Result<Option<Entity>, StoreError> {
    namesakes(view, id).map(joined)
}

/// Relations of an entity and of its namesakes, at most so many.
pub(super) fn joined_edges(
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

impl Engine {
    /// Adds an entity, or what is newly known of one.
    pub fn add_entity(
        &self,
        caller: &Caller,
        input: &AddEntityInput,
    ) -> Result<AddedOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let kind = EntityType::parse("type", &input.kind)?;
        let name = entity_name(&input.name, kind, self.store().root())?;
        let properties = properties(&input.properties)?;
        let added = self.store().transact(Durability::Normal, |view| {
            plan_add_entity(view, (&name, kind), &properties, &self.stamp(caller))
        })?;
        Ok(AddedOutcome { redacted, ..added })
    }

    /// Adds a relation.
    pub fn add_relation(
        &self,
        caller: &Caller,
        input: &AddRelationInput,
    ) -> Result<AddedOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let kind = RelationType::parse("type", &input.kind)?;
        let (properties, root) = (properties(&input.properties)?, self.store().root());
        let added = self.store().transact(Durability::Normal, |view| {
            plan_add_relation(view, &input, kind, &properties, root, &self.stamp(caller))
        })?;
        Ok(AddedOutcome { redacted, ..added })
    }

    /// Finds who is near an entity.
    pub fn neighbors(&self, input: &NeighborsInput) -> Result<NeighborsOutcome, Failure> {
        self.store().view(|view| graph::neighbors(self.code(), view, input, self.store().root()))
    }

    /// Finds the shortest way between two entities.
    pub fn path(&self, input: &PathInput) -> Result<PathOutcome, Failure> {
        self.store().view(|view| graph::path(self.code(), view, input, self.store().root()))
    }

    /// Finds entities by a part of their name.
    pub fn graph_query(&self, input: &GraphQueryInput) -> Result<GraphQueryOutcome, Failure> {
        self.store().view(|view| graph::graph_query(self.code(), view, input))
    }

    /// Removes entities without relations and relations without ends.
    pub fn prune_graph(
        &self,
        caller: &Caller,
        input: &PruneInput,
    ) -> Result<PruneOutcome, Failure> {
        // What is removed carries no name; one that is none is refused all the same.
        caller.called(input.agent_id.as_deref())?;
        if input.dry_run.unwrap_or(true) {
            return self.store().view(graph::prunable);
        }
        self.store().transact(Durability::Normal, graph::plan_prune)
    }
}
