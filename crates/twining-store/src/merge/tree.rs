//! JSON as a tree whose numbers keep their digits and whose keys keep their order.

use std::collections::HashSet;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use twining_model::document::compact;

/// Deeper than this, a value is one leaf: nobody disagrees about its inside.
const DEPTH: usize = 32;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Members in order.
    Object(Vec<(String, Node)>),
    /// Elements in order.
    Array(Vec<Node>),
    /// Anything else, as it is written.
    Leaf(String),
}

impl Node {
    /// Reads one value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<&RawValue>(text).map(|raw| read(raw.get(), DEPTH))
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
            Self::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
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
        let open = |text: &mut String, level: usize| {
            if let Some(indent) = indent {
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', indent * level));
            }
        };
        match self {
            Self::Leaf(raw) => text.push_str(raw),
            Self::Array(elements) if elements.is_empty() => text.push_str("[]"),
            Self::Object(members) if members.is_empty() => text.push_str("{}"),
            Self::Array(elements) => {
                text.push('[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        text.push(',');
                    }
                    open(text, level + 1);
                    element.print(indent, level + 1, text);
                }
                open(text, level);
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        text.push(',');
                    }
                    open(text, level + 1);
                    text.push_str(&serde_json::Value::from(key.as_str()).to_string());
                    text.push_str(if indent.is_some() { ": " } else { ":" });
                    value.print(indent, level + 1, text);
                }
                open(text, level);
                text.push('}');
            }
        }
    }
}

fn read(raw: &str, depth: usize) -> Node {
    let raw = raw.trim();
    let inside = depth.checked_sub(1);
    match (raw.as_bytes().first(), inside) {
        (Some(b'{'), Some(depth)) => match serde_json::from_str::<Members<'_>>(raw) {
            Ok(Members(members)) => Node::Object(members.into_iter().map(|(key, raw)| (key, read(raw.get(), depth))).collect()),
            Err(_) => Node::Leaf(compact(raw)),
        },
        (Some(b'['), Some(depth)) => match serde_json::from_str::<Vec<&RawValue>>(raw) {
            Ok(elements) => Node::Array(elements.into_iter().map(|raw| read(raw.get(), depth)).collect()),
            Err(_) => Node::Leaf(compact(raw)),
        },
        _ => Node::Leaf(compact(raw)),
    }
}

/// Members in order; of a key that stands twice, the last counts as it does for every reader.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;

        impl<'de> Visitor<'de> for Ordered {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &'de RawValue)> = Vec::new();
                let mut places = std::collections::HashMap::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    match places.get(&key) {
                        Some(&at) => members[at] = (key, value),
                        None => {
                            places.insert(key.clone(), members.len());
                            members.push((key, value));
                        }
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Ordered).map(Members)
    }
}

/// Whether a text is JSON in which no object has a key for the second time: readers take
/// the last and say nothing, but in a text that is put together it means a mistake.
#[must_use]
pub fn has_keys_once(text: &[u8]) -> bool {
    serde_json::from_slice::<Once>(text).is_ok()
}

struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Look;

        impl<'de> Visitor<'de> for Look {
            type Value = Once;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON with every key once")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
                Ok(Once)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
                Ok(Once)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
                Ok(Once)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
                Ok(Once)
            }

            fn visit_str<E>(self, _: &str) -> Result<Once, E> {
                Ok(Once)
            }

            fn visit_unit<E>(self) -> Result<Once, E> {
                Ok(Once)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Once, A::Error> {
                while elements.next_element::<Once>()?.is_some() {}
                Ok(Once)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Once, A::Error> {
                let mut keys = HashSet::new();
                while let Some(key) = members.next_key::<String>()? {
                    if !keys.insert(key) {
                        return Err(A::Error::custom("a key that stands twice"));
                    }
                    members.next_value::<Once>()?;
                }
                Ok(Once)
            }
        }

        deserializer.deserialize_any(Look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_printed_again_digit_by_digit() {
        let text = r#"{"z":1.10,"big":12345678901234567890123,"a":[],"o":{"x":"é\n"},"n":null}"#;
        let node = Node::parse(text).expect("is JSON");
        assert_eq!(node.to_compact(), text);
        assert_eq!(Node::parse(&node.to_pretty(2)).expect("is JSON"), node);
    }

    #[test]
    fn a_key_that_stands_twice_is_found_at_any_depth() {
        assert!(!has_keys_once(b"[1.5, null,\n{\"a\": [{\"b\": 1, \"c\": true,\n\"b\": -2}]}]"));
        assert!(has_keys_once(br#"{"a": {"b": "x"}, "b": [{"b": 1}, {"b": 2}]}"#));
        assert!(!has_keys_once(b"{\nno JSON"));
    }

    #[test]
    fn depth_costs_nothing_but_insight() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert_eq!(Node::parse(&deep).expect("is JSON").to_compact(), deep);
        let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        drop(Node::parse(&deeper));
    }
}
