//! JSON at the boundary: printed so that no stored character can act on a terminal, and measured
//! before it is trusted.

use serde::Serialize;
use serde_json::Value;
use twining_model::text;

/// One line.
pub(crate) fn compact(value: &impl Serialize) -> String {
    escaped(serde_json::to_string(value))
}

/// One field a line.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    escaped(serde_json::to_string_pretty(value))
}

/// With every character that acts instead of being read as `\uXXXX`: outside of strings
/// JSON has none but the newline, which strings have not.
fn escaped(json: serde_json::Result<String>) -> String {
    let json = json.expect("answers have string keys and finite numbers");
    let acts = |c: char| c != '\n' && text::is_unsafe_to_show(c);
    if !json.contains(acts) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if acts(c) {
            let mut units = [0; 2];
            safe.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// The same with every character that acts spelled out: a client takes our
/// escapes off again before a model reads the fields.
pub(crate) fn visible(value: Value) -> Value {
    match value {
        Value::String(text_value) if text_value.chars().any(text::is_unsafe_to_show) => {
            Value::String(text::visible(&text_value))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(visible).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (text::visible(&name), visible(value)))
                .collect(),
        ),
        other => other,
    }
}

/// How deep the deepest list or object of a value lies; a plain value has depth 0.
///
/// Walks a list of its own: on the call stack a hostile depth would be a crash.
pub(crate) fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, above)) = open.pop() {
        let here = above + usize::from(value.is_array() || value.is_object());
        deepest = deepest.max(here);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, here))),
            Value::Object(fields) => open.extend(fields.values().map(|item| (item, here))),
            _ => {}
        }
    }
    deepest
}

/// About how many bytes a value takes as JSON; never less than its text.
pub(crate) fn weight(value: &Value) -> usize {
    let mut bytes = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                open.extend(items);
                items.len() + 2
            }
            Value::Object(fields) => {
                open.extend(fields.values());
                fields.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
            _ => 4,
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use twining_testcases::each;

    use crate::render::json_output::*;

    #[test]
    fn what_would_act_on_a_terminal_is_printed_as_an_escape_and_reads_back_the_same() {
        let hostile = json!({"summary": "a\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{202e}\u{7f}\u{e0041}\nend \u{e9}"});
        each([compact(&hostile), pretty(&hostile)], |printed| {
            assert!(!printed.trim_end().chars().any(text::is_unsafe_to_show), "{printed}");
            assert_eq!(serde_json::from_str::<Value>(&printed).expect("is JSON"), hostile);
        });
    }

    #[test]
    fn compact_is_what_serde_json_prints_where_nothing_acts() {
        let value = json!({"a": [1, 2.5, null, {"b": "x\"y\\z\n"}], "c": {}, "d": []});
        assert_eq!(compact(&value), serde_json::to_string(&value).expect("prints"));
        assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).expect("prints"));
    }

    #[test]
    fn depth_and_weight_are_measured_without_the_call_stack() {
        assert_eq!(depth(&json!("a")), 0);
        assert_eq!(depth(&json!({"a": [[]]})), 3);
        assert!(weight(&json!({"detail": "x".repeat(1000)})) > 1000);
    }
}
