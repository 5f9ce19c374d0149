//! JSON values compared by what they say: order of keys, white space, escapes and
//! empty members make no difference.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Fields that say something. One of these that appears later alters a record;
/// an unknown one is of another version, and adds.
const KNOWN: &str = "id timestamp created_at agent_id source_agent target_agent entry_type type tags relates_to scope summary detail \
    origin domain context rationale constraints alternatives depends_on supersedes confidence reversible affected_files affected_symbols \
    assembled_before results event guard source";

/// Names of the fields in which two records differ, sorted.
pub(super) fn differing_fields(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let is_known = |key: &str| KNOWN.split(' ').any(|known| known == key);
    let altered = before.iter().filter(|(key, value)| !is_equivalent(value, after.get(*key).unwrap_or(&Value::Null)));
    let added = after.iter().filter(|(key, value)| is_blank(before.get(*key)) && !is_blank(Some(value)) && is_known(key));
    altered.chain(added).map(|(key, _)| key.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether two values say the same.
pub(super) fn is_equivalent(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equivalent(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.iter().all(|(key, value)| is_equivalent(value, other.get(key).unwrap_or(&Value::Null)))
                && other.iter().all(|(key, value)| one.contains_key(key) || is_blank(Some(value)))
        }
        _ => one == other || (is_blank(Some(one)) && is_blank(Some(other))),
    }
}

/// Whether a member says nothing: it is absent, null or empty.
pub(super) fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(_) => false,
    }
}

/// A member that is text.
pub(super) fn text<'v>(record: &'v Map<String, Value>, key: &str) -> &'v str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}
