//! JSON as a tree whose numbers keep their digits and whose keys keep their order.

use std::collections::HashMap;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use twining_model::json_document::compact;

/// Deeper than this, a value is one leaf: nobody disagrees about its inside.
const DEPTH: usize = 32;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JsonNode {
    /// Members in order.
    Object(Vec<(String, JsonNode)>),
    /// Elements in order.
    Array(Vec<JsonNode>),
    /// Anything else, as it is written.
    Leaf(String),
}

impl JsonNode {
    /// Reads one value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<&RawValue>(text).map(|raw| read(raw.get(), DEPTH, &mut false))
    }

    /// A text as a leaf.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Leaf(serde_json::Value::from(text).to_string())
    }

    /// A member of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Sets a member of an object, in place or at the end.
    pub fn set(&mut self, key: &str, value: Self) {
        if let Self::Object(members) = self {
            match members.iter_mut().find(|(name, _)| name == key) {
                Some((_, slot)) => *slot = value,
                None => members.push((key.to_owned(), value)),
            }
        }
    }

    /// The text of a leaf that is one.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        match self {
            Self::Leaf(raw) if raw.starts_with('"') => serde_json::from_str(raw).ok(),
            _ => None,
        }
    }

    /// On one line without spaces.
    #[must_use]
    pub fn to_compact(&self) -> String {
        let mut text = String::new();
        self.print(None, 0, &mut text);
        text
    }

    /// One member a line, `indent` spaces for each level.
    #[must_use]
    pub fn to_pretty(&self, indent: usize) -> String {
        let mut text = String::new();
        self.print(Some(indent), 0, &mut text);
        text
    }

    fn print(&self, indent: Option<usize>, level: usize, text: &mut String) {
        let (brackets, inside): ([char; 2], Vec<(Option<&str>, &Self)>) = match self {
            Self::Leaf(raw) => return text.push_str(raw),
            Self::Array(elements) => {
                (['[', ']'], elements.iter().map(|element| (None, element)).collect())
            }
            Self::Object(members) => (
                ['{', '}'],
                members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect(),
            ),
        };
        let new_line = |text: &mut String, level: usize| {
            if let Some(indent) = indent.filter(|_| !inside.is_empty()) {
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', indent * level));
            }
        };
        text.push(brackets[0]);
        for (i, (key, value)) in inside.iter().enumerate() {
            text.push_str(if i > 0 { "," } else { "" });
            new_line(text, level + 1);
            if let Some(key) = key {
                text.push_str(&serde_json::Value::from(*key).to_string());
                text.push_str(if indent.is_some() { ": " } else { ":" });
            }
            value.print(indent, level + 1, text);
        }
        new_line(text, level);
        text.push(brackets[1]);
    }
}

/// Whether a text is JSON in which no object has a key for the second time: readers take
/// the last and say nothing, but in a text that is put together it means a mistake.
#[must_use]
pub fn has_unique_keys(text: &[u8]) -> bool {
    let mut has_duplicate = false;
    let node = serde_json::from_slice::<&RawValue>(text)
        .map(|raw| read(raw.get(), DEPTH, &mut has_duplicate));
    node.is_ok() && !has_duplicate
}

/// Reads a value, and reports whether it contains a duplicate key.
fn read(raw: &str, depth: usize, has_duplicate: &mut bool) -> JsonNode {
    let raw = raw.trim();
    let inside = depth.checked_sub(1);
    match (raw.as_bytes().first(), inside) {
        (Some(b'{'), Some(depth)) => {
            let Ok(JsonMembers(found)) = serde_json::from_str::<JsonMembers<'_>>(raw) else {
                return JsonNode::Leaf(compact(raw));
            };
            let (mut members, mut places) = (Vec::with_capacity(found.len()), HashMap::new());
            for (key, raw) in found {
                let value = read(raw.get(), depth, has_duplicate);
                // The last counts, as it does for every reader.
                match places.insert(key.clone(), members.len()) {
                    Some(at) => {
                        *has_duplicate = true;
                        places.insert(key.clone(), at);
                        members[at] = (key, value);
                    }
                    None => members.push((key, value)),
                }
            }
            JsonNode::Object(members)
        }
        (Some(b'['), Some(depth)) => match serde_json::from_str::<Vec<&RawValue>>(raw) {
            Ok(elements) => JsonNode::Array(
                elements.into_iter().map(|raw| read(raw.get(), depth, has_duplicate)).collect(),
            ),
            Err(_) => JsonNode::Leaf(compact(raw)),
        },
        _ => JsonNode::Leaf(compact(raw)),
    }
}

/// Members in their original order.
struct JsonMembers<'t>(Vec<(String, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for JsonMembers<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl<'de> Visitor<'de> for MemberVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect()
            }
        }

        deserializer.deserialize_map(MemberVisitor).map(JsonMembers)
    }
}

#[cfg(test)]
mod tests {
    use crate::merge::lossless_json::*;

    #[test]
    fn what_is_read_is_printed_again_digit_by_digit() {
        let text = r#"{"z":1.10,"big":12345678901234567890123,"a":[],"o":{"x":"é\n"},"n":null}"#;
        let node = JsonNode::parse(text).expect("is JSON");
        assert_eq!(node.to_compact(), text);
        assert_eq!(JsonNode::parse(&node.to_pretty(2)).expect("is JSON"), node);
    }

    #[test]
    fn a_key_that_stands_twice_is_found_at_any_depth() {
        assert!(!has_unique_keys(b"[1.5, null,\n{\"a\": [{\"b\": 1, \"c\": true,\n\"b\": -2}]}]"));
        assert!(has_unique_keys(br#"{"a": {"b": "x"}, "b": [{"b": 1}, {"b": 2}]}"#));
        assert!(!has_unique_keys(b"{\nno JSON"));
    }

    #[test]
    fn depth_costs_nothing_but_insight() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert_eq!(JsonNode::parse(&deep).expect("is JSON").to_compact(), deep);
        let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        drop(JsonNode::parse(&deeper));
    }
}
