//! What serde says of a value it cannot read, in words for someone who has
//! never seen Rust.

use twining_engine::secrets;
use twining_model::text;

/// Characters of what was typed that are repeated; flags with their value's name are shorter.
const MOST_REPEATED: usize = 80;

/// The error, without the names of our types.
pub(crate) fn plain_message(error: &str) -> String {
    if error.starts_with("EOF while parsing") {
        return format!("unexpected end of input{}", place_in(error).1);
    }
    if let Some((name, rest)) =
        error.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'))
    {
        return format!("field `{name}` is missing{rest}");
    }
    let found =
        ["invalid type: ", "invalid value: "].iter().find_map(|label| error.strip_prefix(label));
    // From the right: the text that was given may hold the same words.
    let Some((given, wanted)) = found.and_then(|found| found.rsplit_once(", expected ")) else {
        return without_secrets(error);
    };
    let (wanted, place) = place_in(wanted);
    format!("expected {}, got {}{place}", in_words(wanted), named(given))
}

/// What was given, as it may be repeated.
pub(crate) fn short(given: &str) -> String {
    text::excerpt(&secrets::redact_name(given).0, MOST_REPEATED)
}

/// What we do not know in words of ours, as it may be repeated.
fn without_secrets(error: &str) -> String {
    secrets::redact(error).0
}

/// Splits a message from its position in a file, if any.
fn place_in(words: &str) -> (&str, &str) {
    words.find(" at line ").map_or((words, ""), |at| words.split_at(at))
}

fn in_words(wanted: &str) -> &str {
    match wanted {
        "usize" | "u64" | "u32" => "a positive whole number",
        "f64" => "a number",
        "a string" => "text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted => wanted,
    }
}

fn named(given: &str) -> String {
    match given.split_once(' ') {
        Some(("integer" | "floating", rest)) => {
            format!("the number {}", rest.trim_start_matches("point "))
        }
        Some(("boolean", value)) => value.to_owned(),
        Some(("string", text)) => format!("the text {}", short(text)),
        _ => match given {
            "sequence" => "a list".to_owned(),
            "map" => "an object".to_owned(),
            given => given.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::{Value, json};
    use twining_model::Alternative;

    use super::*;

    fn message_of<T: for<'de> Deserialize<'de>>(value: &Value) -> String {
        plain_message(&T::deserialize(value).err().expect("is refused").to_string())
    }

    #[test]
    fn no_type_of_ours_is_named() {
        assert_eq!(
            message_of::<usize>(&json!("2")),
            "expected a positive whole number, got the text \"2\""
        );
        assert_eq!(
            message_of::<usize>(&json!(2.5)),
            "expected a positive whole number, got the number `2.5`"
        );
        assert_eq!(
            message_of::<usize>(&json!(2.0)),
            "expected a positive whole number, got the number `2.0`"
        );
        assert_eq!(
            message_of::<usize>(&json!(-1)),
            "expected a positive whole number, got the number `-1`"
        );
        assert_eq!(
            message_of::<bool>(&json!("yes")),
            "expected true or false, got the text \"yes\""
        );
        assert_eq!(message_of::<Vec<String>>(&json!({})), "expected a list, got an object");
        assert_eq!(
            message_of::<BTreeMap<String, String>>(&json!([])),
            "expected an object, got a list"
        );
        assert_eq!(message_of::<Alternative>(&json!(true)), "expected an object, got `true`");
        assert_eq!(message_of::<String>(&json!(null)), "expected text, got null");
        assert_eq!(
            message_of::<bool>(&json!("a, expected usize")),
            "expected true or false, got the text \"a, expected usize\""
        );
    }

    #[test]
    fn what_we_do_not_know_is_left_as_it_is() {
        assert_eq!(
            plain_message("expected value at line 1 column 2"),
            "expected value at line 1 column 2"
        );
        assert_eq!(
            plain_message("EOF while parsing a value at line 2 column 0"),
            "unexpected end of input at line 2 column 0"
        );
    }
}
