//! What the code itself says of an entity that is a file or a definition: computed when asked,
//! marked as derived, and never written into the graph.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{Entity, EntityType, Place, ProjectRoot, limits};
use twining_store::View;
use twining_store::code::CodeIndex;

use crate::anchors::{CodeLink, definition_named, definitions_named, links_of, named_place};
use crate::failure::Failure;
use crate::graph::entities::{joined_edges, joined_entity, resolve};
use crate::graph::neighbors::RelationDirection;
use crate::graph::path::{PathOutcome, PathStep};

/// Derived neighbours that are listed.
const MAX_LISTED: usize = 40;
/// Places of the code that answer a query whose links are told, and how many of each.
const MAX_LINKED: usize = 3;
const MAX_LINKS: usize = 10;
/// Places of the code whose links a search for a path looks at, and for how long.
const MAX_EXPANDED: usize = 24;
const SEARCH_TIME: Duration = Duration::from_secs(2);

/// A neighbour that the code itself shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DerivedNeighbor {
    /// Where it is: a file, `path#name`, or the name of a module.
    pub at: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// contains, mentions, imports or changes_with.
    pub relation: String,
    /// Which way that points.
    pub direction: RelationDirection,
    /// Nobody recorded it: it is read from the code.
    pub derived: bool,
    /// How many definitions have the name that is mentioned; it may mean another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// In how many of its commits, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
}

/// A file or a definition that a query names.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DerivedEntity {
    /// Where it is: a file, or `path#name`.
    pub at: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Nobody recorded it: it is read from the code.
    pub derived: bool,
    /// The entity that somebody recorded for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// What the code shows around it, at most 10; told of the first 3.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<DerivedNeighbor>,
}

/// Definitions with the name that a query is, and files with the query in their path; and whether
/// there are more.
pub(super) fn found_in_code(
    code: &CodeIndex,
    query: &str,
    kinds: &[String],
    limit: usize,
) -> Result<(Vec<DerivedEntity>, bool), Failure> {
    let (mut places, is_whole) = match named_place(code, query, &ProjectRoot::default()) {
        Ok(place) => (vec![place], true),
        Err(_) => definitions_named(code, query, None)?,
    };
    let wanted = query.to_lowercase();
    let files = code.git().listed_of(&[".".to_owned()]);
    let files = files.iter().filter(|file| file.to_lowercase().contains(&wanted));
    for file in files.filter_map(|file| Place::file(file).ok()) {
        if !places.contains(&file) {
            places.push(file);
        }
    }
    let mut found = Vec::new();
    for place in &places {
        let Entity { id: at, kind, .. } = derived_entity(code, place)?;
        if !kinds.is_empty() && !kinds.iter().any(|asked| is_of_type(&kind, asked)) {
            continue;
        }
        if found.len() == limit {
            return Ok((found, true));
        }
        let mut links = Vec::new();
        if found.len() < MAX_LINKED {
            links = links_of(code, place)?;
            links.truncate(MAX_LINKS);
        }
        let links = links.into_iter().map(neighbor).collect();
        found.push(DerivedEntity { at, kind, derived: true, entity_id: None, links });
    }
    Ok((found, !is_whole))
}

/// Whether a definition of a kind is what the graph calls by this type.
fn is_of_type(kind: &str, asked: &str) -> bool {
    match kind {
        "method" => asked == EntityType::Function.as_str(),
        "struct" | "enum" | "trait" | "type" => asked == EntityType::Class.as_str(),
        kind => asked == kind,
    }
}

/// Where an entity is in the code, and what is around it there.
pub(super) struct DerivedSurroundings {
    pub(super) at: Place,
    pub(super) neighbors: Vec<DerivedNeighbor>,
    pub(super) truncated: bool,
}

/// What the code shows around an entity; none if it is no file or definition of this checkout.
pub(super) fn surroundings(
    code: &CodeIndex,
    entity: &Entity,
    kinds: &[String],
) -> Result<Option<DerivedSurroundings>, Failure> {
    let Some(at) = place_of(code, entity)? else { return Ok(None) };
    let is_asked =
        |link: &CodeLink| kinds.is_empty() || kinds.iter().any(|kind| kind == link.relation);
    let mut links = links_of(code, &at)?;
    links.retain(is_asked);
    let truncated = links.len() > MAX_LISTED;
    links.truncate(MAX_LISTED);
    let neighbors = links.into_iter().map(neighbor).collect();
    Ok(Some(DerivedSurroundings { at, neighbors, truncated }))
}

fn neighbor(link: CodeLink) -> DerivedNeighbor {
    DerivedNeighbor {
        at: link.to,
        kind: link.kind,
        relation: link.relation.to_owned(),
        direction: RelationDirection::of(link.outgoing),
        derived: true,
        of: link.of,
        percent: link.percent,
    }
}

/// The entity that `given` names, or else the place in the code, as an entity that nobody
/// recorded.
pub(super) fn resolve_or_derive(
    code: Option<&CodeIndex>,
    view: &View<'_>,
    field: &'static str,
    given: &str,
    root: &ProjectRoot,
) -> Result<Entity, Failure> {
    match (resolve(view, field, given, root), code) {
        (Err(unknown @ Failure::NotFound { .. }), Some(code)) => {
            match named_place(code, given, root) {
                Ok(place) => derived_entity(code, &place),
                Err(_) => Err(unknown),
            }
        }
        (resolved, _) => resolved,
    }
}

/// A place of the code as an entity that nobody recorded: its id is the place.
fn derived_entity(code: &CodeIndex, place: &Place) -> Result<Entity, Failure> {
    let source = code.source(place.path(), None)?.found();
    let kind = source.and_then(|source| source.file.at(place).map(|found| found.kind.name()));
    Ok(virtual_entity(&place.to_string(), kind.unwrap_or(EntityType::File.as_str())))
}

fn virtual_entity(at: &str, kind: &str) -> Entity {
    Entity {
        id: at.to_owned(),
        name: at.to_owned(),
        kind: kind.to_owned(),
        properties: BTreeMap::from([("derived".to_owned(), "true".to_owned())]),
        created_at: String::new(),
        updated_at: String::new(),
        agent_id: None,
        origin: None,
        extra: serde_json::Map::new(),
    }
}

/// Where an entity is: a file by its name, a definition by its place, or by its name if just one
/// definition of the project has it.
fn place_of(code: &CodeIndex, entity: &Entity) -> Result<Option<Place>, Failure> {
    let is_definition = ["function", "class", "module"].contains(&entity.kind.as_str());
    let is_derived = entity.properties.contains_key("derived");
    if entity.kind != EntityType::File.as_str() && !is_definition && !is_derived {
        return Ok(None);
    }
    if let Ok(place) = named_place(code, &entity.name, &ProjectRoot::default()) {
        return Ok(Some(place));
    }
    if is_definition { definition_named(code, &entity.name) } else { Ok(None) }
}

/// How a node of both graphs was reached: an entity, or a place of the code.
struct WalkHop {
    entity: Entity,
    from: Option<String>,
    relation: String,
    outgoing: bool,
    derived: bool,
}

/// What a node is known by: a file by its path, whoever recorded it; another entity by its id,
/// which of one that nobody recorded is its place.
fn key_of(entity: &Entity) -> String {
    let is_file = entity.kind == EntityType::File.as_str();
    if is_file { entity.name.clone() } else { entity.id.clone() }
}

/// The shortest way between two entities over what people recorded and what the code shows. Only
/// certain links are followed.
pub(super) fn derived_path(
    code: &CodeIndex,
    view: &View<'_>,
    [from, to]: [&Entity; 2],
    most: usize,
) -> Result<Option<PathOutcome>, Failure> {
    // Who names a definition is found by its name, so the way is looked for from both ends.
    if let Some(path) = walk(code, view, from, to, most)? {
        return Ok(Some(outcome(path)));
    }
    let Some(path) = walk(code, view, to, from, most)? else { return Ok(None) };
    Ok(Some(outcome(turned(path))))
}

fn walk(
    code: &CodeIndex,
    view: &View<'_>,
    from: &Entity,
    to: &Entity,
    most: usize,
) -> Result<Option<Vec<PathStep>>, Failure> {
    let until = Instant::now() + SEARCH_TIME;
    let mut expanded = 0;
    let ends = [Some(key_of(to)), place_of(code, to)?.map(|place| place.to_string())];
    let first = WalkHop {
        entity: from.clone(),
        from: None,
        relation: String::new(),
        outgoing: true,
        derived: false,
    };
    let mut reached: HashMap<String, WalkHop> = HashMap::from([(key_of(from), first)]);
    let mut queue = VecDeque::from([(key_of(from), 0)]);
    while let Some((key, steps)) = queue.pop_front() {
        if ends.iter().flatten().any(|end| *end == key) {
            return Ok(Some(way_to(&reached, &key)));
        }
        let Some(entity) = reached.get(&key).map(|hop| hop.entity.clone()) else { continue };
        if steps == most || reached.len() > limits::WALK_NODES {
            continue;
        }
        let mut next = recorded(view, &entity, &key)?;
        if expanded < MAX_EXPANDED
            && Instant::now() < until
            && let Some(place) = place_of(code, &entity)?
        {
            expanded += 1;
            for link in links_of(code, &place)?.into_iter().filter(CodeLink::is_certain) {
                next.push(WalkHop {
                    entity: linked(view, &link)?,
                    from: Some(key.clone()),
                    relation: link.relation.to_owned(),
                    outgoing: link.outgoing,
                    derived: true,
                });
            }
        }
        for hop in next {
            let key = key_of(&hop.entity);
            if let Entry::Vacant(place) = reached.entry(key) {
                queue.push_back((place.key().clone(), steps + 1));
                place.insert(hop);
            }
        }
    }
    Ok(None)
}

/// The steps that people and agents recorded.
fn recorded(view: &View<'_>, entity: &Entity, key: &str) -> Result<Vec<WalkHop>, Failure> {
    let mut steps = Vec::new();
    for edge in joined_edges(view, &entity.id, &[], limits::WALK_NODES)? {
        let Some(entity) = joined_entity(view, &edge.other)? else { continue };
        let (relation, outgoing) = (edge.relation.kind, edge.outgoing);
        steps.push(WalkHop {
            entity,
            from: Some(key.to_owned()),
            relation,
            outgoing,
            derived: false,
        });
    }
    Ok(steps)
}

/// The other end of a link: the entity that somebody recorded for it, or the place.
fn linked(view: &View<'_>, link: &CodeLink) -> Result<Entity, Failure> {
    let recorded = view.graph().named(&link.to)?.into_iter().next();
    Ok(recorded.unwrap_or_else(|| virtual_entity(&link.to, &link.kind)))
}

fn way_to(reached: &HashMap<String, WalkHop>, end: &str) -> Vec<PathStep> {
    let (mut steps, mut at) = (Vec::new(), Some(end.to_owned()));
    while let Some(hop) = at.take().and_then(|key| reached.get(&key)) {
        let is_first = hop.from.is_none();
        steps.push(PathStep {
            entity: hop.entity.clone(),
            relation: (!is_first).then(|| hop.relation.clone()),
            direction: (!is_first).then(|| RelationDirection::of(hop.outgoing)),
            derived: hop.derived,
        });
        at.clone_from(&hop.from);
    }
    steps.reverse();
    steps
}

/// The same way from the other end.
fn turned(path: Vec<PathStep>) -> Vec<PathStep> {
    let mut turned: Vec<PathStep> = Vec::new();
    let mut onward: (Option<String>, Option<RelationDirection>, bool) = (None, None, false);
    for step in path.into_iter().rev() {
        let (relation, direction, derived) = onward;
        onward = (step.relation, step.direction.map(RelationDirection::turned), step.derived);
        turned.push(PathStep { entity: step.entity, relation, direction, derived });
    }
    turned
}

fn outcome(path: Vec<PathStep>) -> PathOutcome {
    let length = path.len().saturating_sub(1) as u64;
    PathOutcome { found: true, length, path, truncated: false }
}
