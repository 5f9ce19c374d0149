//! What the verbs' inputs have in common: closed sets of words, lists that may
//! be `null`, and nested values on a command line.

use std::collections::BTreeMap;

use clap::builder::{PossibleValue, PossibleValuesParser};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use twining_model::Alternative;

use crate::misread;

/// The entry types an agent may post.
pub const POSTABLE: [&str; 9] = ["need", "offer", "finding", "constraint", "question", "answer", "status", "artifact", "warning"];
/// Every entry type.
pub const ENTRY_TYPES: [&str; 10] =
    ["need", "offer", "finding", "decision", "constraint", "question", "answer", "status", "artifact", "warning"];
/// How sure an author is.
pub const CONFIDENCES: [&str; 3] = ["high", "medium", "low"];
/// Where a decision stands.
pub const STATUSES: [&str; 4] = ["active", "provisional", "superseded", "overridden"];
/// Which way a trace goes.
pub const DIRECTIONS: [&str; 3] = ["upstream", "downstream", "both"];
/// What an export looks like.
pub const FORMATS: [&str; 6] = ["markdown", "json", "madr", "html", "mermaid", "dot"];
/// What an entity is.
pub const ENTITY_TYPES: [&str; 10] =
    ["module", "function", "class", "file", "concept", "pattern", "dependency", "api_endpoint", "agent", "commit"];
/// How two entities hang together.
pub const RELATION_TYPES: [&str; 11] = [
    "depends_on",
    "implements",
    "decided_by",
    "affects",
    "tested_by",
    "calls",
    "imports",
    "related_to",
    "supersedes",
    "produces",
    "challenged",
];
/// How high above the code a node of knowledge stands.
pub const LEVELS: [&str; 3] = ["architecture", "implementation", "all"];
/// What `verify` can look at.
pub const CHECKS: [&str; 5] = ["test_coverage", "warnings", "assembly", "drift", "constraints"];

/// What a coach may say of a turn.
pub const VERDICTS: [&str; 3] = ["approve", "revise", "escalate"];
/// How a turn begins.
pub const TURN_MODES: [&str; 3] = ["fresh_start", "continuing_work", "recovering_state"];

/// What can be done with the feature list.
pub const FEATURE_ACTIONS: [&str; 3] = ["list", "add", "update"];
/// How far a feature is.
pub const FEATURE_STATUSES: [&str; 5] = ["pending", "in_progress", "completed", "tested", "blocked"];
/// What may happen to a feature.
pub const OUTCOMES: [&str; 6] = ["started", "completed", "passed", "failed", "blocked", "reopened"];

/// What a trace is of.
pub const TRACE_TYPES: [&str; 4] = ["correction", "violation", "decision", "approval"];

/// What a scope may be, in the help of a flag.
pub const SCOPE: &str = "File, directory, module or `project`; a path is relative to the project";
/// The same where it may be left out.
pub const SCOPE_OR_PROJECT: &str = "File, directory, module or `project` (default); a path is relative to the project";

/// Accepts one of `words` on a command line, and lists them in its help.
pub fn one_of<const N: usize>(words: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(words)
}

/// The schema of a list's elements, each one of `words`.
pub fn each_of<const N: usize>(words: [&'static str; N]) -> Value {
    json!({ "type": "string", "enum": words.as_slice() })
}

/// The types to post. `decision` is let through, because the engine's refusal
/// says what to do instead.
pub fn postable() -> PossibleValuesParser {
    let words = POSTABLE.map(PossibleValue::new).into_iter();
    PossibleValuesParser::new(words.chain([PossibleValue::new("decision").hide(true)]))
}

/// A list that a model may also have sent as `null`.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A part that a model may also have sent as `null`.
pub fn part<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Text that a model may also have sent as a number, or as `null`.
pub fn number_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

/// Properties: an object in JSON, `key=value` pairs on a command line.
pub fn properties<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    let properties: Option<BTreeMap<String, String>> = Option::deserialize(deserializer)?;
    Ok(properties.unwrap_or_default().into_iter().collect())
}

/// Reads `key=value`.
pub fn property(pair: &str) -> Result<(String, String), String> {
    let (key, value) = pair.split_once('=').ok_or("write it as key=value")?;
    if key.trim().is_empty() {
        return Err("the key before `=` is empty".to_owned());
    }
    Ok((key.trim().to_owned(), value.to_owned()))
}

/// Reads a number of things.
pub fn number(word: &str) -> Result<usize, String> {
    word.trim().parse().map_err(|_| "write a positive whole number".to_owned())
}

/// Reads any JSON.
pub fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("write it as JSON: {}", misread::explained(&error.to_string())))
}

/// Reads an alternative from JSON.
pub fn alternative(json: &str) -> Result<Alternative, String> {
    let wanted = |why: String| format!(r#"write it as {{"option":"…","reason_rejected":"…"}}: {why}"#);
    // serde would also take a list of its fields in order.
    if json.trim_start().starts_with('[') {
        return Err(wanted("an object is wanted, a list was given".to_owned()));
    }
    serde_json::from_str(json).map_err(|error| wanted(misread::explained(&error.to_string())))
}

/// The schema of an alternative. A record without a reason can be read; one
/// without a reason is not written.
pub fn alternative_schema() -> Value {
    let (text, texts) = (json!({ "type": "string" }), json!({ "type": "array", "items": { "type": "string" } }));
    json!({
        "type": "object",
        "properties": { "option": text, "pros": texts, "cons": texts, "reason_rejected": text },
        "required": ["option", "reason_rejected"],
    })
}

#[cfg(test)]
mod tests {
    use twining_model::{Confidence, EntityType, EntryType, RelationType, Status};

    use super::*;

    #[test]
    fn the_words_offered_are_the_words_the_model_knows() {
        assert_eq!(ENTRY_TYPES.to_vec(), EntryType::ALL.map(EntryType::as_str).to_vec());
        assert_eq!(POSTABLE.to_vec(), ENTRY_TYPES.into_iter().filter(|word| *word != "decision").collect::<Vec<_>>());
        assert_eq!(ENTITY_TYPES.to_vec(), EntityType::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
        assert_eq!(RELATION_TYPES.to_vec(), RelationType::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
        assert_eq!(CONFIDENCES, [Confidence::High, Confidence::Medium, Confidence::Low].map(Confidence::as_str));
        let statuses = [Status::Active, Status::Provisional, Status::Superseded, Status::Overridden];
        assert_eq!(STATUSES, statuses.map(Status::as_str));
    }

    #[test]
    fn a_word_that_is_no_number_is_refused_in_words() {
        assert_eq!(number("20"), Ok(20));
        for wrong in ["x", "-1", "2.5", "99999999999999999999999"] {
            assert_eq!(number(wrong), Err("write a positive whole number".to_owned()), "{wrong}");
        }
        assert_eq!(
            alternative(r#"{"option": 5}"#).expect_err("no text"),
            r#"write it as {"option":"…","reason_rejected":"…"}: text is wanted, the number `5` was given at line 1 column 12"#
        );
    }

    #[test]
    fn a_property_is_split_at_its_first_equals_sign() {
        assert_eq!(property("sql=a=b"), Ok(("sql".to_owned(), "a=b".to_owned())));
        assert!(property("no sign").is_err());
        assert!(property("=x").is_err());
    }
}
