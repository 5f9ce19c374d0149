//! What the inputs of verbs have in common: closed sets of words, test counts, and
//! schemas of what is nested in them.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use twining_model::EntryType;
use twining_model::knowledge_vocabulary::FIELDS;

/// The entry types an agent may post.
pub(crate) fn postable() -> Vec<&'static str> {
    let all = EntryType::ALL.into_iter().filter(|kind| *kind != EntryType::Decision);
    all.map(EntryType::as_str).collect()
}

/// How sure an author is.
pub(crate) const CONFIDENCES: [&str; 3] = ["high", "medium", "low"];
/// Which way a trace goes.
pub(crate) const DIRECTIONS: [&str; 3] = ["upstream", "downstream", "both"];
/// Abstraction levels of a knowledge node.
pub(crate) const LEVELS: [&str; 3] = ["architecture", "implementation", "all"];

/// What a coach may say of a turn.
pub(crate) const VERDICTS: [&str; 3] = ["approve", "revise", "escalate"];
/// How a turn begins.
pub(crate) const TURN_MODES: [&str; 3] = ["fresh_start", "continuing_work", "recovering_state"];

/// What can be done with the feature list.
pub(crate) const FEATURE_ACTIONS: [&str; 3] = ["list", "add", "update"];

/// How soon help is needed.
pub(crate) const URGENCIES: [&str; 3] = ["high", "normal", "low"];
/// Which entries a search may be narrowed to.
pub(crate) const ENTRY_STANDINGS: [&str; 2] = ["open", "any"];

/// Test results, as counted by the caller.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TestCountsInput {
    /// Tests that were run
    pub run: Option<u64>,
    /// Tests that passed
    pub passed: Option<u64>,
    /// Tests that failed
    pub failed: Option<u64>,
}

/// Text that a model may also have sent as a number.
pub(crate) fn number_or_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

/// The schema of a list's elements, each one of `words`.
pub(crate) fn each_of<const N: usize>(words: [&'static str; N]) -> Value {
    json!({ "type": "string", "enum": words.as_slice() })
}

/// The schema of an alternative. A record without a reason can be read; one
/// without a reason is not written.
pub(crate) fn alternative_schema() -> Value {
    let (text, texts) =
        (json!({ "type": "string" }), json!({ "type": "array", "items": { "type": "string" } }));
    json!({
        "type": "object",
        "properties": { "option": text, "pros": texts, "cons": texts, "reason_rejected": text },
        "required": ["option", "reason_rejected"],
    })
}

/// The schema of what came of a part of the work.
pub(crate) fn result_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "description": text, "status": { "type": "string", "enum": ["completed", "partial", "blocked", "failed"] },
            "artifacts": { "type": "array", "items": text }, "notes": text,
        },
        "required": ["description", "status"],
    })
}

/// What an operation may say of an edge.
pub(crate) const EDGE_FIELDS: [&str; 4] = ["from", "to", "relation", "note"];

/// A field's values are listed in the error message instead: tokens here cost the model.
pub(crate) fn operation_schema() -> Value {
    let names = ["id"].into_iter().chain(FIELDS).chain(EDGE_FIELDS);
    let mut fields: Map<String, Value> =
        names.map(|name| (name.to_owned(), json!({ "type": "string" }))).collect();
    let operations = ["add_node", "update_node", "remove_node", "add_edge", "remove_edge"];
    fields.insert("op".to_owned(), json!({ "type": "string", "enum": operations }));
    json!({ "type": "object", "properties": fields, "required": ["op"] })
}

#[cfg(test)]
mod tests {
    use twining_model::Confidence;

    use crate::input_types::*;

    #[test]
    fn the_words_offered_are_the_words_the_model_knows() {
        let known = [Confidence::High, Confidence::Medium, Confidence::Low];
        assert_eq!(CONFIDENCES, known.map(Confidence::as_str));
        assert_eq!(known.len(), Confidence::ALL.len());
    }
}
