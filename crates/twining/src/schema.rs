//! The schemas models are shown: as short as they can be said, and portable.
//!
//! What schemars derives is correct and long: meta-schema, titles, integer
//! formats that TypeScript clients warn about, `null` beside every optional
//! type, references some clients do not follow. A model pays for each by token.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of what a verb takes.
pub fn of_input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = derived::<T>(Contract::Deserialize);
    slim(&mut schema, Describe::Fields);
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// The schema of what a verb answers: the shape alone, since the names speak
/// and no model is shown it.
pub fn of_output<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = derived::<T>(Contract::Serialize);
    slim(&mut schema, Describe::Nothing);
    schema
}

#[derive(Clone, Copy, PartialEq)]
enum Describe {
    Fields,
    Nothing,
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

/// Below the top level the names speak.
fn slim(schema: &mut Map<String, Value>, describe: Describe) {
    for key in ["$schema", "title", "format", "minimum"] {
        schema.remove(key);
    }
    if describe == Describe::Nothing {
        schema.remove("description");
    }
    if schema.get("default").is_some_and(is_nothing) {
        schema.remove("default");
    }
    drop_null(schema);
    words_of(schema);
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(fields)) => fields.values_mut().for_each(|field| slim_value(field, describe)),
            ("items" | "additionalProperties", value) => slim_value(value, Describe::Nothing),
            ("anyOf" | "oneOf" | "allOf", Value::Array(options)) => {
                options.iter_mut().for_each(|option| slim_value(option, Describe::Nothing));
            }
            _ => {}
        }
    }
}

fn slim_value(schema: &mut Value, describe: Describe) {
    if let Value::Object(schema) = schema {
        slim(schema, describe);
    }
}

/// A default that says no more than leaving the field out.
fn is_nothing(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// An optional field may be left out; that it may also be `null` need not be said.
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
    let words: Option<Vec<Value>> = options.iter().map(|option| option.get("const").cloned()).collect();
    if let Some(words) = words {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(words));
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

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
            Value::Object(of_input::<Thing>()),
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
