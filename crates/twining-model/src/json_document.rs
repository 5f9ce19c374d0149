//! A JSON object whose untouched fields survive byte for byte.
//!
//! Amending a record from another program must not round numbers, reorder keys or drop unknown
//! fields; so fields are kept as raw text and only those that are set are rewritten.

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON object as an ordered list of raw fields.
#[derive(Clone, Debug)]
pub struct JsonDocument(Vec<(String, Box<RawValue>)>);

impl JsonDocument {
    /// Reads an object. A repeated `id` is refused: two readers would disagree
    /// on which record this is.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// Replaces a field in place, or adds it at the end.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), serde_json::Error> {
        let raw =
            RawValue::from_string(serde_json::to_string_pretty(value)?.replace('\n', "\n  "))?;
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = raw,
            None => self.0.push((key.to_owned(), raw)),
        }
        Ok(())
    }

    /// The object with one field a line and a final newline.
    pub fn to_pretty(&self) -> Result<String, serde_json::Error> {
        let mut text = String::from("{");
        for (i, (key, value)) in self.0.iter().enumerate() {
            text.push_str(if i == 0 { "\n  " } else { ",\n  " });
            text.push_str(&serde_json::to_string(key)?);
            text.push_str(": ");
            text.push_str(value.get());
        }
        text.push_str("\n}\n");
        Ok(text)
    }
}

impl<'de> Deserialize<'de> for JsonDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DocumentVisitor;

        impl<'de> Visitor<'de> for DocumentVisitor {
            type Value = JsonDocument;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonDocument, A::Error> {
                let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if key == "id" && fields.iter().any(|(name, _)| name == "id") {
                        return Err(A::Error::custom("the field `id` appears twice"));
                    }
                    fields.push((key, value));
                }
                Ok(JsonDocument(fields))
            }
        }

        deserializer.deserialize_map(DocumentVisitor)
    }
}

/// JSON without white space between its tokens; nothing else is touched.
#[must_use]
pub fn compact(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            text.push(c);
        } else if !matches!(c, ' ' | '\n' | '\t' | '\r') {
            quoted = c == '"';
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use crate::json_document::*;

    #[test]
    fn setting_one_field_leaves_the_others_to_the_byte() {
        let text = "{\n  \"z\": 1.10,\n  \"big\": 123456789012345678901234567890,\n  \"status\": \"active\",\n  \"nested\": {\n    \"a\": [1,  2]\n  }\n}\n";
        let mut document = JsonDocument::parse(text.as_bytes()).expect("an object");
        document.set("status", &json!("overridden")).expect("sets");
        document.set("why", &json!({"a": [1]})).expect("sets");
        let expected = text
            .replace("\"active\"", "\"overridden\"")
            .replace("\n}\n", ",\n  \"why\": {\n    \"a\": [\n      1\n    ]\n  }\n}\n");
        assert_eq!(document.to_pretty().expect("prints"), expected);
    }

    #[test]
    fn a_second_id_is_refused() {
        assert!(JsonDocument::parse(br#"{"id":"a","x":1,"id":"b"}"#).is_err());
    }

    #[test]
    fn compact_touches_no_string() {
        assert_eq!(
            compact("{ \"a b\" : \"c \\\" d\\\\\" ,\n\"e\": [1, 2] }"),
            r#"{"a b":"c \" d\\","e":[1,2]}"#
        );
    }

    proptest! {
        #[test]
        fn compact_keeps_the_value(text in "\\PC*", n in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            let value = json!({"t": text, "n": [n, {"x": null}]});
            let pretty = serde_json::to_string_pretty(&value).expect("prints");
            prop_assert_eq!(compact(&pretty), serde_json::to_string(&value).expect("prints"));
        }
    }
}
