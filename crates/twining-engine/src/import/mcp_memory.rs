//! The file of the MCP reference memory server: entities with observations, and relations.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};
use twining_model::{Entity, EntityType, Relation, RelationType, Time, limits};

use super::records::{
    ImportRecords, ImportSource, SourceFile, clean, entry, id_of, json_lines, origin, word,
};
use crate::fields;

/// Observations that are kept as properties; further ones become an entry.
const OBSERVATIONS: usize = limits::PROPERTIES - 5;

/// Reads one file. Relations to what is not in it are told and left out.
pub(super) fn read(file: &SourceFile, now: Time, found: &mut ImportRecords) {
    let lines = json_lines(file, found);
    let mut ids: HashMap<String, String> = HashMap::new();
    for (number, object, _) in
        lines.iter().filter(|(_, object, _)| word(object, "type") == Some("entity"))
    {
        let Some(name) = word(object, "name") else {
            found.unread(&file.name, *number, "an entity without a name");
            continue;
        };
        let given = word(object, "entityType").unwrap_or("concept");
        let (kind, mut properties) = kind_of(given);
        let more = observations(object, &mut properties);
        let whole = fields::fold(&clean(name));
        if whole.len() > limits::NAME_BYTES {
            found.unread(
                &file.name,
                *number,
                format!(
                    "a name longer than {} bytes; the end of it was cut off",
                    limits::NAME_BYTES
                ),
            );
        }
        let name = fields::clip(&whole, limits::NAME_BYTES);
        if !more.is_empty() {
            let detail = more.join("\n");
            if detail.len() > limits::TEXT_BYTES {
                found.unread(
                    &file.name,
                    *number,
                    "the observations are too long; the end of them was cut off",
                );
            }
            let key = format!("observations\u{0}{name}");
            found.entries.push(entry(
                ImportSource::MemoryJsonl,
                "finding",
                None,
                now,
                &key,
                &format!("More about {name}"),
                &detail,
            ));
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
    for (number, object, _) in &lines {
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

/// Puts what is said of an entity into its properties, and returns what does not fit.
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
