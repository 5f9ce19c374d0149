//! JSON by position: where each member and element is in a text, so that an edit touches only its
//! own bytes. Numbers keep their digits, keys their order, and people their layout.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A byte range in a text.
pub(crate) type TextRange = Range<usize>;

/// The kind of JSON value at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    Other,
}

/// The place of the one value a text holds.
pub(crate) fn whole(text: &str) -> Result<TextRange, serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(|raw| span_in(text, raw))
}

pub(crate) fn kind(text: &str, at: &TextRange) -> JsonKind {
    match text.as_bytes().get(at.start) {
        Some(b'{') => JsonKind::Object,
        Some(b'[') => JsonKind::Array,
        _ => JsonKind::Other,
    }
}

/// The members of an object, in order; nothing if it is none.
pub(crate) fn members<'t>(text: &'t str, at: &TextRange) -> Vec<(Cow<'t, str>, TextRange)> {
    let ObjectMembers(members) = serde_json::from_str(&text[at.clone()]).unwrap_or_default();
    members.into_iter().map(|(key, raw)| (key, span_in(text, raw))).collect()
}

/// The elements of an array, in order; nothing if it is none.
pub(crate) fn elements(text: &str, at: &TextRange) -> Vec<TextRange> {
    let elements: Vec<&RawValue> = serde_json::from_str(&text[at.clone()]).unwrap_or_default();
    elements.into_iter().map(|raw| span_in(text, raw)).collect()
}

/// The value at a place.
pub(crate) fn value(text: &str, at: &TextRange) -> Value {
    serde_json::from_str(&text[at.clone()]).unwrap_or_default()
}

fn span_in(text: &str, raw: &RawValue) -> TextRange {
    let start = raw.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + raw.get().len()
}

#[derive(Default)]
struct ObjectMembers<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for ObjectMembers<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((MemberKey(key), value)) =
                    map.next_entry::<MemberKey<'de>, &'de RawValue>()?
                {
                    members.push((key, value));
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor).map(ObjectMembers)
    }
}

/// A key, borrowed from the text wherever it is written plainly.
#[derive(Deserialize)]
#[serde(transparent)]
struct MemberKey<'t>(#[serde(borrow)] Cow<'t, str>);

/// Replaces the value of a member, the last of that name because that is the one
/// other readers take, or adds one at the end in the layout of the others.
pub(crate) fn set_member(text: &str, object: &TextRange, key: &str, value: &Value) -> String {
    let members = members(text, object);
    if let Some((_, at)) = members.iter().rev().find(|(name, _)| name == key) {
        let indent = indent_before(text, at.start);
        return spliced(text, at, &laid_out(value, &indent, text[at.clone()].contains('\n')));
    }
    let name = Value::from(key).to_string();
    insert(text, object, members.last().map(|(_, at)| at), |indent, broken| {
        format!("{name}: {}", laid_out(value, indent, broken))
    })
}

/// Adds an element at the end of an array, in the layout of the others.
pub(crate) fn push_element(text: &str, array: &TextRange, value: &Value) -> String {
    let elements = elements(text, array);
    let broken = elements.last().is_none_or(|last| text[last.clone()].contains('\n'));
    insert(text, array, elements.last(), |indent, _| laid_out(value, indent, broken))
}

/// Puts one more item behind the last of a container, or as its first.
fn insert(
    text: &str,
    container: &TextRange,
    last: Option<&TextRange>,
    item: impl Fn(&str, bool) -> String,
) -> String {
    let Some(last) = last else {
        let outer = indent_before(text, container.start);
        let inner = format!("{outer}  ");
        let (open, close) =
            (&text[container.start..=container.start], &text[container.end - 1..container.end]);
        let filled = format!("{open}\n{inner}{}\n{outer}{close}", item(&inner, true));
        return spliced(text, container, &filled);
    };
    // The whitespace between the opening bracket and the first item is used before every item.
    let inside = &text[container.start + 1..];
    let gap = &inside[..inside.len() - inside.trim_start().len()];
    let broken = gap.contains('\n');
    let indent = gap.rsplit('\n').next().filter(|_| broken).unwrap_or_default();
    let gap = if gap.is_empty() { if broken { gap } else { " " } } else { gap };
    let added = format!("{},{gap}{}", &text[last.clone()], item(indent, broken));
    spliced(text, last, &added)
}

/// A value as it is printed behind `indent`.
fn laid_out(value: &Value, indent: &str, broken: bool) -> String {
    let short = matches!(value, Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()));
    if broken && !short && (value.is_object() || value.is_array()) {
        let printed = serde_json::to_string_pretty(value).unwrap_or_default();
        return printed.replace('\n', &format!("\n{indent}"));
    }
    value.to_string()
}

/// The white space at the beginning of the line that holds `at`.
fn indent_before(text: &str, at: usize) -> String {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned()
}

fn spliced(text: &str, at: &TextRange, with: &str) -> String {
    format!("{}{with}{}", &text[..at.start], &text[at.end..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(text: &str, key: &str, value: &Value) -> String {
        set_member(text, &whole(text).expect("is JSON"), key, value)
    }

    #[test]
    fn setting_a_member_touches_no_other_byte() {
        let text = "{\n  \"z\": 1.10,\n  \"big\": 123456789012345678901234567890,\n  \"status\" : \"pending\",\n\n  \"n\": [1,  2]\n}\n";
        assert_eq!(
            set(text, "status", &json!("completed")),
            text.replace("\"pending\"", "\"completed\"")
        );
        assert_eq!(
            set(text, "tested", &json!(true)),
            text.replace("[1,  2]\n", "[1,  2],\n  \"tested\": true\n")
        );
    }

    #[test]
    fn what_is_on_one_line_stays_on_one_line() {
        assert_eq!(set(r#"{"a":1}"#, "b", &json!(2)), r#"{"a":1, "b": 2}"#);
        let array = "[\n  {\"id\": \"A\"}\n]\n";
        let added = push_element(
            array,
            &whole(array).expect("is JSON"),
            &json!({"id": "B", "files": ["x"]}),
        );
        assert_eq!(added, "[\n  {\"id\": \"A\"},\n  {\"id\":\"B\",\"files\":[\"x\"]}\n]\n");
    }

    #[test]
    fn an_empty_container_is_opened_up() {
        let text = "{\n  \"features\": []\n}\n";
        let (_, at) = members(text, &whole(text).expect("is JSON")).remove(0);
        let added = push_element(text, &at, &json!({"id": "A"}));
        assert_eq!(added, "{\n  \"features\": [\n    {\n      \"id\": \"A\"\n    }\n  ]\n}\n");
        assert_eq!(set("{}", "a", &json!(1)), "{\n  \"a\": 1\n}");
    }

    #[test]
    fn of_two_members_with_one_name_the_last_is_changed() {
        assert_eq!(set(r#"{"t": 1, "t": 2}"#, "t", &json!(3)), r#"{"t": 1, "t": 3}"#);
    }
}
