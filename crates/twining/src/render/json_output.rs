//! JSON at the rim: printed so that no stored character can act on a terminal,
//! and measured before it is trusted.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};
use twining_model::text;

/// One line.
pub fn compact(value: &impl Serialize) -> String {
    written(value, EscapingFormatter(CompactFormatter))
}

/// One field a line.
pub fn pretty(value: &impl Serialize) -> String {
    written(value, EscapingFormatter(PrettyFormatter::new()))
}

fn written(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut bytes = Vec::with_capacity(256);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value.serialize(&mut serializer).expect("answers have string keys and finite numbers");
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

/// The same with every character that acts spelled out: a client takes our
/// escapes off again before a model reads the fields.
pub fn visible(value: Value) -> Value {
    match value {
        Value::String(said) if said.chars().any(text::is_unsafe_to_show) => {
            Value::String(text::visible(&said))
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
pub fn depth(value: &Value) -> usize {
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
pub fn weight(value: &Value) -> usize {
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

/// Writes every character that acts instead of being read as `\uXXXX`.
struct EscapingFormatter<F>(F);

impl<F: Formatter> Formatter for EscapingFormatter<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if !fragment.chars().any(text::is_unsafe_to_show) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut units = [0; 2];
        for c in fragment.chars() {
            if text::is_unsafe_to_show(c) {
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            } else {
                writer.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?;
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        self.0.write_char_escape(writer, escape)
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::render::json_output::*;

    #[test]
    fn what_would_act_on_a_terminal_is_printed_as_an_escape_and_reads_back_the_same() {
        let hostile = json!({"summary": "a\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{202e}\u{7f}\u{e0041}\nend \u{e9}"});
        for printed in [compact(&hostile), pretty(&hostile)] {
            assert!(!printed.trim_end().chars().any(text::is_unsafe_to_show), "{printed}");
            assert_eq!(serde_json::from_str::<Value>(&printed).expect("is JSON"), hostile);
        }
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
