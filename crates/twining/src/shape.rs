//! Objects where the schema says object. serde also reads a struct from a list of
//! its fields in order, which nobody means and which hides what is missing.

use schemars::JsonSchema;
use serde_json::{Map, Value};
use twining_model::{InvalidInput, text};

use crate::schema;

/// Leaves out what is `null`, which is the same as not given, and refuses a list, a
/// number or a truth where `T` wants an object.
pub fn settle<T: JsonSchema>(fields: &mut Value) -> Result<(), InvalidInput> {
    let Value::Object(fields) = fields else { return Ok(()) };
    fields.retain(|_, value| !value.is_null());
    // Most calls hold no list of anything but text and no object, and need no schema:
    // a number in place of an object, serde refuses by itself.
    if fields.values().all(is_plain) {
        return Ok(());
    }
    let schema = schema::of_input::<T>(&[]);
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

fn each(fields: &mut Map<String, Value>, known: &Map<String, Value>, above: &str) -> Result<(), InvalidInput> {
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
            Some(schema) => items.iter_mut().enumerate().try_for_each(|(at, item)| fits(item, schema, &format!("{path}[{at}]"))),
            None => Ok(()),
        },
        // Text is left to serde, which refuses it wherever it cannot mean an object.
        _ => Ok(()),
    }
}

fn refused(path: &str, given: &str) -> InvalidInput {
    InvalidInput::new(text::excerpt(path, 80), "must be an object").because(format!("{given} was given"))
}
