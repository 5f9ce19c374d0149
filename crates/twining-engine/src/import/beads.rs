//! The file of the beads issue tracker: an issue a line. Open issues become needs,
//! closed ones findings; every field that has no place of its own goes into the detail.

use std::collections::BTreeMap;

use serde_json::Value;
use twining_model::{Time, limits};

use super::records::{
    ImportRecords, ImportSource, SourceFile, date, entry, id_of, is_cut, json_lines, word,
};
use crate::fields;

/// Fields that have a place of their own.
const PLACED: [&str; 7] =
    ["id", "title", "description", "labels", "dependencies", "created_at", "status"];

/// Reads one file.
pub(super) fn read(file: &SourceFile, now: Time, found: &mut ImportRecords) {
    let lines = json_lines(file, found);
    let ids: BTreeMap<String, String> = lines
        .iter()
        .filter_map(|(_, object, _)| {
            word(object, "id").map(|id| {
                (id.to_owned(), id_of(ImportSource::Beads, created(object), id).to_string())
            })
        })
        .collect();
    let mut seen = std::collections::HashSet::new();
    for (number, object, _) in &lines {
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
        if detail.len() > limits::TEXT_BYTES {
            found.unread(&file.name, *number, "the issue is too long; the end of it was cut off");
        }
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
