//! The schemas shown to models: as short as possible, and portable.
//!
//! What schemars derives is correct and long: meta-schema, titles, integer formats that TypeScript
//! clients warn about, `null` beside every optional type, references some clients do not follow. A
//! model pays for each by token.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};
use twining_model::{InvalidInput, text};

/// Words that a field is offered at a command line; models learn them from the refusal.
pub(crate) const OFFERED: &str = "x-offered";

/// Returns the schema of a verb's input. Models see the first paragraph of the docs of the fields
/// in `described`.
pub(crate) fn of_input<T: JsonSchema>(described: &[&str]) -> Map<String, Value> {
    let mut schema = derived::<T>(Contract::Deserialize);
    slim(&mut schema);
    describe(&mut schema, described, "");
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// Returns the schema of a verb's input, with the full docs of its fields.
pub(crate) fn whole<T: JsonSchema>() -> Map<String, Value> {
    derived::<T>(Contract::Deserialize)
}

/// The schema of what a verb answers: the shape alone, since the names speak
/// and no model is shown it.
pub(crate) fn of_output<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = derived::<T>(Contract::Serialize);
    slim(&mut schema);
    describe(&mut schema, &[], "");
    schema
}

/// Leaves a description where one is asked for.
fn describe(schema: &mut Map<String, Value>, described: &[&str], path: &str) {
    match schema.get_mut("description") {
        Some(Value::String(text)) if described.contains(&path) => {
            text.truncate(text.find("\n\n").unwrap_or(text.len()));
        }
        _ => drop(schema.remove("description")),
    }
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(fields)) => {
                for (name, field) in fields
                    .iter_mut()
                    .filter_map(|(name, field)| Some((name, field.as_object_mut()?)))
                {
                    let dot = if path.is_empty() { "" } else { "." };
                    describe(field, described, &format!("{path}{dot}{name}"));
                }
            }
            ("items" | "additionalProperties", Value::Object(inner)) => describe(inner, &[], path),
            ("anyOf" | "oneOf" | "allOf", Value::Array(options)) => {
                options
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|option| describe(option, &[], path));
            }
            _ => {}
        }
    }
}

fn derived<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.contract = contract;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The record's own description repeats the tool's.
    schema.remove("description");
    match schema.to_value() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn slim(schema: &mut Map<String, Value>) {
    for key in ["$schema", "title", "format", "minimum", OFFERED] {
        schema.remove(key);
    }
    if schema.get("default").is_some_and(is_nothing) {
        schema.remove("default");
    }
    drop_null(schema);
    words_of(schema);
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(fields)) => {
                fields.values_mut().for_each(slim_value);
            }
            ("items" | "additionalProperties", value) => slim_value(value),
            ("anyOf" | "oneOf" | "allOf", Value::Array(options)) => {
                options.iter_mut().for_each(slim_value);
            }
            _ => {}
        }
    }
}

fn slim_value(schema: &mut Value) {
    if let Value::Object(schema) = schema {
        slim(schema);
    }
}

/// A default that says no more than leaving the field out.
fn is_nothing(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(truth) => !truth,
        _ => false,
    }
}

/// An optional field may be left out; that it may also be `null` is redundant.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(options)) = schema.get_mut("anyOf") else { return };
    options.retain(|option| option.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = options.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
}

/// `oneOf` of constants, which is how schemars describes each variant, is an `enum`.
fn words_of(schema: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = schema.get("oneOf") else { return };
    let words: Option<Vec<Value>> =
        options.iter().map(|option| option.get("const").cloned()).collect();
    if let Some(words) = words {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(words));
    }
}

/// Leaves out what is `null`, which is the same as not given, and refuses a list, a
/// number or a truth where `T` wants an object.
pub(crate) fn settle<T: JsonSchema>(fields: &mut Value) -> Result<(), InvalidInput> {
    let Value::Object(fields) = fields else { return Ok(()) };
    fields.retain(|_, value| !value.is_null());
    // Most calls hold no list of anything but text and no object, and need no schema:
    // a number in place of an object, serde refuses by itself.
    if fields.values().all(is_plain) {
        return Ok(());
    }
    let schema = of_input::<T>(&[]);
    let Some(Value::Object(known)) = schema.get("properties") else { return Ok(()) };
    each(fields, known, "")
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::String(_) | Value::Bool(_) | Value::Number(_) => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_string),
        Value::Object(_) => false,
    }
}

fn each(
    fields: &mut Map<String, Value>,
    known: &Map<String, Value>,
    above: &str,
) -> Result<(), InvalidInput> {
    fields.retain(|_, value| !value.is_null());
    fields.iter_mut().try_for_each(|(name, value)| match known.get(name) {
        Some(schema) => fits(value, schema, &format!("{above}{name}")),
        None => Ok(()),
    })
}

fn fits(value: &mut Value, schema: &Value, path: &str) -> Result<(), InvalidInput> {
    let wants_object = schema.get("type").is_some_and(|name| name == "object");
    match value {
        Value::Object(fields) => match schema.get("properties") {
            Some(Value::Object(known)) => each(fields, known, &format!("{path}.")),
            _ => Ok(()),
        },
        Value::Array(_) if wants_object => Err(refused(path, "a list")),
        Value::Number(_) if wants_object => Err(refused(path, "a number")),
        Value::Bool(_) if wants_object => Err(refused(path, "true or false")),
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(at, item)| fits(item, schema, &format!("{path}[{at}]"))),
            None => Ok(()),
        },
        // Text is left to serde, which refuses it wherever it cannot mean an object.
        _ => Ok(()),
    }
}

fn refused(path: &str, given: &str) -> InvalidInput {
    InvalidInput::new(text::excerpt(path, 80), "must be an object")
        .because(format!("{given} was given"))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use crate::verbs::schema::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        /// Like a rose.
        Red,
        /// Like a violet.
        Blue,
    }

    /// A thing.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        /// Its name.
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
        #[serde(default)]
        tags: Vec<String>,
        colour: Option<Colour>,
    }

    #[test]
    fn a_schema_says_only_what_a_caller_needs() {
        assert_eq!(
            Value::Object(of_input::<Thing>(&["name"])),
            json!({
                "type": "object",
                "properties": {
                    "name": {"description": "Its name.", "type": "string"},
                    "limit": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "colour": {"type": "string", "enum": ["red", "blue"]},
                },
                "additionalProperties": false,
                "required": ["name"],
            })
        );
    }

    #[test]
    fn an_output_schema_has_no_prose() {
        let printed = Value::Object(of_output::<Thing>()).to_string();
        assert!(!printed.contains("description"), "{printed}");
    }
}
