//! Files of JSON lines. The MCP reference memory server has entities with observations,
//! and relations; the beads issue tracker an issue a line. Open issues become needs,
//! closed ones findings; every field that has no place of its own goes into the detail.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};
use twining_model::{Entity, EntityType, Relation, RelationType, Time, limits};

use super::reader::{
    ImportRecords, ImportSource, ImportedFile, clean, date, entry, id_of, is_cut, json_lines,
    origin, word,
};
use crate::fields;

/// Observations that are kept as properties; further ones become an entry.
const OBSERVATIONS: usize = limits::PROPERTIES - 5;

/// Reads one file of a memory server. Relations to what is not in it are told and left out.
pub(super) fn read_memory(file: &ImportedFile, now: Time, found: &mut ImportRecords) {
    let lines: Vec<(u64, BTreeMap<String, Value>)> = json_lines(file, found, "a JSON object");
    let mut ids: HashMap<String, String> = HashMap::new();
    for (number, object) in
        lines.iter().filter(|(_, object)| word(object, "type") == Some("entity"))
    {
        let Some(name) = word(object, "name") else {
            found.unread(&file.name, *number, "an entity without a name");
            continue;
        };
        let given = word(object, "entityType").unwrap_or("concept");
        let (kind, mut properties) = kind_of(given);
        let more = observations(object, &mut properties);
        let name = fields::fold(&clean(name));
        let name = found.clip(&file.name, *number, &name, limits::NAME_BYTES);
        if !more.is_empty() {
            let detail = found.clip(&file.name, *number, &more.join("\n"), limits::TEXT_BYTES);
            let key = format!("observations\u{0}{name}");
            let (source, summary) = (ImportSource::MemoryJsonl, format!("More about {name}"));
            found.entries.push(entry(source, "finding", None, now, &key, &summary, &detail));
        }
        let id = id_of(ImportSource::MemoryJsonl, None, &format!("entity\u{0}{name}")).to_string();
        if ids.insert(name.clone(), id.clone()).is_some() {
            found.unread(&file.name, *number, "duplicate entity name; the first one is used");
            continue;
        }
        let (kind, at) = (kind.as_str().to_owned(), now.to_string());
        found.entities.push(Entity {
            id,
            name,
            kind,
            properties,
            created_at: at.clone(),
            updated_at: at,
            agent_id: Some(ImportSource::MemoryJsonl.as_str().to_owned()),
            origin: Some(origin()),
            extra: Map::new(),
        });
    }
    for (number, object) in &lines {
        match word(object, "type") {
            Some("entity") => {}
            Some("relation") => {
                let mut lost = Vec::new();
                match relation(object, &ids, now, &mut lost) {
                    Ok(relation) => found.relations.push(relation),
                    Err(why) => found.unread(&file.name, *number, why),
                }
                for key in lost {
                    found.unread(&file.name, *number, format!("`{key}` of a relation is too long"));
                }
            }
            _ => found.unread(&file.name, *number, "neither an entity nor a relation"),
        }
    }
}

/// Stores an entity's observations in its properties, and returns those that do not fit.
fn observations(
    object: &BTreeMap<String, Value>,
    properties: &mut BTreeMap<String, String>,
) -> Vec<String> {
    let all = match object.get("observations") {
        Some(Value::Array(all)) => all.as_slice(),
        None | Some(Value::Null) => &[],
        Some(one) => std::slice::from_ref(one),
    };
    let mut more = Vec::new();
    for (at, observation) in all.iter().enumerate() {
        let text =
            clean(&observation.as_str().map_or_else(|| observation.to_string(), str::to_owned));
        if at < OBSERVATIONS && text.len() <= limits::PROPERTY_BYTES {
            properties.insert(format!("observation_{}", at + 1), text);
        } else {
            more.push(text);
        }
    }
    for (key, text) in unknown(object, &["type", "name", "entityType", "observations"]) {
        let fits = key.len() <= limits::TAG_BYTES
            && text.len() <= limits::PROPERTY_BYTES
            && properties.len() < limits::PROPERTIES;
        if fits && !properties.contains_key(&key) {
            properties.insert(key, text);
        } else {
            more.push(format!("{key}: {text}"));
        }
    }
    more
}

fn relation(
    object: &BTreeMap<String, Value>,
    ids: &HashMap<String, String>,
    now: Time,
    lost: &mut Vec<String>,
) -> Result<Relation, String> {
    let end = |key: &str| {
        let name = word(object, key).ok_or_else(|| format!("a relation without `{key}`"))?;
        let name = fields::clip(&fields::fold(&clean(name)), limits::NAME_BYTES);
        ids.get(&name)
            .cloned()
            .map(|id| (name, id))
            .ok_or_else(|| format!("a relation whose `{key}` is not an entity in this file"))
    };
    let ((from, source), (to, target)) = (end("from")?, end("to")?);
    let given = word(object, "relationType").unwrap_or("related_to");
    let known = RelationType::read(&given.trim().to_lowercase().replace([' ', '-'], "_"));
    let mut properties = BTreeMap::new();
    if known.is_none() {
        properties.insert(
            "relation_type".to_owned(),
            fields::clip(&clean(given), limits::PROPERTY_BYTES),
        );
    }
    for (key, text) in unknown(object, &["type", "from", "to", "relationType"]) {
        if key.len() > limits::TAG_BYTES
            || text.len() > limits::PROPERTY_BYTES
            || properties.len() >= limits::PROPERTIES
        {
            lost.push(key);
        } else {
            properties.entry(key).or_insert(text);
        }
    }
    let kind = known.unwrap_or(RelationType::RelatedTo).as_str().to_owned();
    let id = id_of(
        ImportSource::MemoryJsonl,
        None,
        &format!("relation\u{0}{from}\u{0}{given}\u{0}{to}"),
    )
    .to_string();
    let agent_id = Some(ImportSource::MemoryJsonl.as_str().to_owned());
    Ok(Relation {
        id,
        source,
        target,
        kind,
        properties,
        created_at: now.to_string(),
        agent_id,
        origin: Some(origin()),
        extra: Map::new(),
    })
}

/// Fields that have no place of their own, as texts.
fn unknown<'o>(
    object: &'o BTreeMap<String, Value>,
    known: &'o [&str],
) -> impl Iterator<Item = (String, String)> + 'o {
    let others =
        object.iter().filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null());
    others.map(|(key, value)| {
        (clean(key), clean(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    })
}

fn kind_of(given: &str) -> (EntityType, BTreeMap<String, String>) {
    let spelled = given.trim().to_lowercase().replace([' ', '-'], "_");
    match EntityType::read(&spelled) {
        Some(kind) => (kind, BTreeMap::new()),
        None => {
            let extra_properties = BTreeMap::from([(
                "entity_type".to_owned(),
                fields::clip(&clean(given), limits::PROPERTY_BYTES),
            )]);
            (EntityType::Concept, extra_properties)
        }
    }
}

/// Fields that have a place of their own.
const PLACED: [&str; 7] =
    ["id", "title", "description", "labels", "dependencies", "created_at", "status"];

/// Reads one file of issues.
pub(super) fn read_beads(file: &ImportedFile, now: Time, found: &mut ImportRecords) {
    let lines: Vec<(u64, BTreeMap<String, Value>)> = json_lines(file, found, "a JSON object");
    let ids: BTreeMap<String, String> = lines
        .iter()
        .filter_map(|(_, object)| {
            word(object, "id").map(|id| {
                (id.to_owned(), id_of(ImportSource::Beads, created(object), id).to_string())
            })
        })
        .collect();
    let mut seen = std::collections::HashSet::new();
    for (number, object) in &lines {
        let (Some(id), Some(title)) = (word(object, "id"), word(object, "title")) else {
            found.unread(&file.name, *number, "an issue without `id` or `title`");
            continue;
        };
        if !seen.insert(id.to_owned()) {
            found.unread(
                &file.name,
                *number,
                format!("duplicate issue {id}; the first one is used"),
            );
            continue;
        }
        let status = word(object, "status").unwrap_or("open");
        let kind =
            if matches!(status, "closed" | "done" | "tombstone") { "finding" } else { "need" };
        let summary = format!("{id}: {title}");
        let mut detail = detail(object, status);
        if is_cut(&summary) {
            detail = format!("{title}\n\n{detail}");
        }
        let detail = found.clip(&file.name, *number, &detail, limits::TEXT_BYTES);
        let mut made =
            entry(ImportSource::Beads, kind, created(object), now, id, &summary, &detail);
        let labels = object
            .get("labels")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let tags = labels.chain(word(object, "issue_type")).chain([status]);
        for tag in tags
            .map(|tag| fields::clip(tag.trim(), limits::TAG_BYTES))
            .filter(|tag| !tag.is_empty())
        {
            if !made.tags.contains(&tag) && made.tags.len() < limits::TAGS {
                made.tags.push(tag);
            }
        }
        for on in depends_on(object) {
            match ids.get(on) {
                Some(other) => made.relates_to.push(other.clone()),
                None => found.unread(
                    &file.name,
                    *number,
                    format!("{id} depends on {on}, which is not in this file"),
                ),
            }
        }
        made.relates_to.sort();
        made.relates_to.dedup();
        made.relates_to.truncate(limits::LIST);
        found.entries.push(made);
    }
}

fn created(object: &BTreeMap<String, Value>) -> Option<Time> {
    word(object, "created_at").and_then(date)
}

fn depends_on(object: &BTreeMap<String, Value>) -> Vec<&str> {
    let listed = object.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    listed
        .filter_map(|one| one.as_str().or_else(|| one.get("depends_on_id").and_then(Value::as_str)))
        .collect()
}

fn detail(object: &BTreeMap<String, Value>, status: &str) -> String {
    let mut text = word(object, "description").unwrap_or_default().to_owned();
    text.push_str(&format!("\n\nstatus: {status}"));
    for (key, value) in
        object.iter().filter(|(key, value)| !PLACED.contains(&key.as_str()) && !value.is_null())
    {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !value.is_empty() {
            text.push_str(&format!("\n{key}: {value}"));
        }
    }
    // Labels that do not become tags as they are.
    let labels = object.get("labels").filter(|labels| !labels.is_null());
    let fits = |label: &Value| label.as_str().is_some_and(|label| label.len() <= limits::TAG_BYTES);
    if let Some(labels) = labels.filter(|labels| {
        !labels.as_array().is_some_and(|all| all.len() + 3 <= limits::TAGS && all.iter().all(fits))
    }) {
        text.push_str(&format!("\nlabels: {labels}"));
    }
    for one in object.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(on), Some(kind)) = (
            one.get("depends_on_id").and_then(Value::as_str),
            one.get("type").and_then(Value::as_str),
        ) {
            text.push_str(&format!("\n{kind}: {on}"));
        }
    }
    text
}
