//! Whether an answer or a data file says anything. An empty list that came back
//! with a friendly status is still an empty list.

use serde_json::Value;

/// Members that carry what was asked for; what stands beside them is packaging.
const CONTENT: [&str; 9] = ["data", "results", "result", "items", "rows", "records", "response", "body", "features"];
/// Deeper JSON is taken to say something: nobody answers nothing that elaborately.
const DEPTH: usize = 32;

/// Whether a text says nothing: white space, JSON without content, or a table
/// with a heading and no rows.
#[must_use]
pub fn is_hollow(text: &str, path: &str) -> bool {
    let text = text.trim_start_matches('\u{FEFF}').trim();
    if text.is_empty() {
        return true;
    }
    let named = |ending: &str| path.to_ascii_lowercase().ends_with(ending);
    if named(".csv") || named(".tsv") {
        return text.lines().filter(|line| !line.trim().is_empty()).count() < 2;
    }
    serde_json::from_str::<Value>(text).is_ok_and(|value| value_is_hollow(&value, DEPTH))
}

fn value_is_hollow(value: &Value, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    match value {
        Value::Null => true,
        Value::Bool(_) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(words) => words.trim().is_empty(),
        Value::Array(items) => items.iter().all(|item| value_is_hollow(item, depth - 1)),
        Value::Object(members) => {
            let mut content = CONTENT.iter().filter_map(|key| members.get(*key)).peekable();
            if content.peek().is_some() {
                return content.all(|value| value_is_hollow(value, depth - 1));
            }
            members.values().all(|value| value_is_hollow(value, depth - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_answer_is_empty_however_it_is_wrapped() {
        for text in ["", " \n", "[]", "{}", "null", "\"\"", r#"{"data": [], "status": "ok"}"#, r#"{"data": {"rows": []}}"#, "[[], {}]", "0"]
        {
            assert!(is_hollow(text, "answer.json"), "{text}");
        }
        for text in ["[0, 1]", r#"{"data": [{"id": 1}]}"#, "plain words", "true", r#"{"a": {"b": "c"}}"#] {
            assert!(!is_hollow(text, "answer.json"), "{text}");
        }
    }

    #[test]
    fn a_table_with_nothing_but_its_heading_is_empty() {
        assert!(is_hollow("id,name\n\n", "rows.CSV"));
        assert!(!is_hollow("id,name\n1,a\n", "rows.csv"));
    }
}
