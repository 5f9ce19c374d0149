//! Whether an answer or a data file says anything. An empty list that came back
//! with a friendly status is still an empty list, and an error is no answer.

use serde_json::{Map, Value};

/// Members that carry what was asked for; what stands beside them is packaging.
const CONTENT: [&str; 9] = ["data", "results", "result", "items", "rows", "records", "response", "body", "features"];
/// Members that only say whether it went well.
const NODS: [&str; 5] = ["success", "succeeded", "ok", "acknowledged", "done"];
/// Deeper JSON is taken to say something: nobody answers nothing that elaborately.
const DEPTH: usize = 32;
/// Longer prose says something.
const MOST_WORDS: usize = 400;

/// What a text comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Something.
    Something,
    /// Nothing: white space, JSON or YAML without content, a table with a heading and
    /// no rows, a page without words, or words for nothing.
    Nothing,
    /// That it went wrong, and no more.
    Error,
}

/// What a text says; of a file, with its path.
#[must_use]
pub fn says(text: &str, path: &str) -> Says {
    let text = text.trim_start_matches('\u{FEFF}').trim();
    if text.is_empty() {
        return Says::Nothing;
    }
    let named = |ending: &str| path.to_ascii_lowercase().ends_with(ending);
    if named(".csv") || named(".tsv") {
        let is_heading = text.lines().filter(|line| !line.trim().is_empty()).count() < 2;
        return if is_heading { Says::Nothing } else { Says::Something };
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return said_by(&value);
    }
    if text.starts_with('<') {
        return said_by_page(text);
    }
    if text.len() > MOST_WORDS {
        return Says::Something;
    }
    if is_no_table(text) || is_heading(text) || is_empty_yaml(text) { Says::Nothing } else { said_by_words(text) }
}

fn said_by(value: &Value) -> Says {
    if let Value::Object(members) = value
        && tells_of_error(members)
    {
        return Says::Error;
    }
    match value {
        // A number or a word by itself may be a JSON text too.
        Value::String(words) if !words.trim().is_empty() => said_by_words(words),
        value if value_is_hollow(value, DEPTH) => Says::Nothing,
        _ => Says::Something,
    }
}

/// Whether an object is an error and nothing besides: what came along counts.
fn tells_of_error(members: &Map<String, Value>) -> bool {
    if CONTENT.iter().filter_map(|key| members.get(*key)).any(|value| !value_is_hollow(value, DEPTH)) {
        return false;
    }
    let is_error = |(key, value): (&String, &Value)| match key.as_str() {
        "error" | "errors" | "error_message" | "errorMessage" => *value != Value::Bool(false) && !value_is_hollow(value, DEPTH),
        "success" | "succeeded" | "ok" => *value == Value::Bool(false),
        "status" | "code" | "statusCode" | "status_code" => {
            let code = value.as_u64().or_else(|| value.as_str()?.parse().ok());
            code.is_some_and(|code| (400..600).contains(&code))
        }
        "message" | "detail" => value.as_str().is_some_and(|words| said_by_words(words) == Says::Error),
        _ => false,
    };
    members.iter().any(is_error)
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
            let is_nod = |key: &str, value: &Value| NODS.contains(&key) && value.is_boolean();
            members.iter().all(|(key, value)| is_nod(key, value) || value_is_hollow(value, depth - 1))
        }
    }
}

/// A page without its tags. Tags that only hold others say nothing, whatever is set on them.
fn said_by_page(text: &str) -> Says {
    const HOLD: [&str; 9] = ["html", "head", "body", "title", "meta", "div", "main", "p", "span"];
    let (mut words, mut shows) = (String::new(), false);
    for part in text.split('<').skip(1) {
        let Some((tag, after)) = part.split_once('>') else { return Says::Something };
        let tag = tag.trim_end_matches('/').trim();
        let (name, set) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let holds = name.starts_with(['!', '?', '/']) || HOLD.contains(&name.to_ascii_lowercase().as_str());
        shows |= !holds && !set.trim().is_empty();
        words.push_str(after.trim());
        words.push('\n');
    }
    match words.trim() {
        "" if shows => Says::Something,
        "" => Says::Nothing,
        words if words.len() > MOST_WORDS => Says::Something,
        // An error's page repeats it as its title and signs it.
        words => match words.lines().find(|line| !line.is_empty()).map(said_by_words) {
            Some(Says::Error) if words.lines().filter(|line| !line.is_empty()).count() <= 3 => Says::Error,
            _ => Says::Something,
        },
    }
}

/// Words that stand for nothing, or for an error, all by themselves.
fn said_by_words(text: &str) -> Says {
    const NOTHING: [&str; 12] =
        ["none", "nil", "null", "undefined", "nan", "empty", "(empty)", "empty set", "nothing", "nothing found", "n/a", "---"];
    const WRONG: [&str; 16] = [
        "not found",
        "page not found",
        "file not found",
        "internal server error",
        "bad gateway",
        "bad request",
        "unauthorized",
        "forbidden",
        "access denied",
        "service unavailable",
        "gateway timeout",
        "gateway time-out",
        "method not allowed",
        "too many requests",
        "request timeout",
        "not implemented",
    ];
    let lower = text.trim().to_lowercase();
    let line = lower.trim_end_matches(['.', '!']).trim();
    if line.lines().count() != 1 {
        return Says::Something;
    }
    if NOTHING.contains(&line) || counts_nothing(line) {
        return Says::Nothing;
    }
    let line = line.strip_prefix("error").map_or(line, |rest| rest.trim_start_matches([':', ' ']));
    let line = match line.strip_prefix("http/") {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
        None => line,
    };
    let (first, rest) = line.split_once([' ', ':']).unwrap_or((line, ""));
    let is_code = first.len() == 3 && first.starts_with(['4', '5']) && first.bytes().all(|byte| byte.is_ascii_digit());
    let phrase = if is_code { rest.trim_start_matches([':', '-', ' ']) } else { line };
    if WRONG.contains(&phrase) || (is_code && phrase.is_empty() && lower.starts_with("http/")) { Says::Error } else { Says::Something }
}

/// `(0 rows)`, `0 rows in set`, `No results found`, `Empty set (0.00 sec)`.
fn counts_nothing(line: &str) -> bool {
    const COUNTED: [&str; 14] = [
        "row",
        "rows",
        "result",
        "results",
        "record",
        "records",
        "item",
        "items",
        "entry",
        "entries",
        "match",
        "matches",
        "data",
        "documents",
    ];
    const AFTER: [&str; 8] = ["", "found", "returned", "returned by query", "in set", "selected", "available", "to show"];
    let line = line.trim_start_matches('(').trim_end_matches(')');
    if line.starts_with("empty set") {
        return true;
    }
    let Some(rest) = line.strip_prefix("0 ").or_else(|| line.strip_prefix("no ")) else { return false };
    let (counted, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let after = after.split(" (").next().unwrap_or(after).trim();
    COUNTED.contains(&counted) && AFTER.contains(&after)
}

/// A table as a terminal shows it: a heading, a rule, and no rows.
fn is_no_table(text: &str) -> bool {
    let is_rule = |line: &&str| line.contains("--") && line.chars().all(|c| matches!(c, '-' | '+' | '|' | ':' | '=' | ' '));
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (rules, lines): (Vec<&str>, Vec<&str>) = lines.into_iter().partition(is_rule);
    let says_none = |line: &&str| counts_nothing(&line.to_lowercase());
    let (none, rest): (Vec<&str>, Vec<&str>) = lines.into_iter().partition(says_none);
    let has_cells = |line: &&str| line.trim_matches('|').contains('|');
    match rest.as_slice() {
        [] => !none.is_empty(),
        [heading] if !rules.is_empty() => !none.is_empty() || (has_cells(heading) && rules.iter().any(|rule| rule.contains(['|', '+']))),
        _ => false,
    }
}

/// The heading of a table in commas or tabs: names of columns, one of them a common one.
fn is_heading(text: &str) -> bool {
    const COMMON: [&str; 20] = [
        "id",
        "uuid",
        "name",
        "key",
        "value",
        "email",
        "date",
        "time",
        "timestamp",
        "title",
        "status",
        "type",
        "count",
        "total",
        "price",
        "amount",
        "user",
        "url",
        "path",
        "description",
    ];
    let lower = text.to_lowercase();
    let Some(between) = [',', '\t', ';'].into_iter().find(|c| lower.contains(*c)) else { return false };
    let columns: Vec<&str> = lower.split(between).map(|column| column.trim_matches('"')).collect();
    let is_name = |column: &&str| {
        column.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && column.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let is_common = |column: &&str| COMMON.contains(column) || column.ends_with("_id") || column.ends_with("_at");
    columns.len() > 1 && columns.iter().all(is_name) && columns.iter().any(is_common)
}

/// YAML on one level whose content, or all of it, is empty.
fn is_empty_yaml(text: &str) -> bool {
    let mut content = Vec::new();
    let mut others = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#') && !matches!(line.trim(), "---" | "...")) {
        let Some((key, value)) = line.split_once(": ") else { return false };
        if key.contains(char::is_whitespace) || key.is_empty() {
            return false;
        }
        let is_empty = matches!(value.trim(), "[]" | "{}" | "null" | "~" | "\"\"" | "''");
        if CONTENT.contains(&key) { content.push(is_empty) } else { others.push(is_empty) }
    }
    let told = if content.is_empty() { others } else { content };
    !told.is_empty() && told.into_iter().all(|is_empty| is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_answer_is_empty_however_it_is_wrapped() {
        for text in [
            "",
            " \n",
            "[]",
            "{}",
            "null",
            "\"\"",
            r#"{"data": [], "status": "ok"}"#,
            r#"{"data": {"rows": []}}"#,
            "[[], {}]",
            "0",
            r#"{"success":true}"#,
            r#"{"ok":true,"items":[]}"#,
            "data: []",
            "---\nstatus: ok\nresults: {}",
            "<html></html>",
            "<!DOCTYPE html>\n<html lang=\"en\"><head><title></title></head>\n<body class=\"x\"><div id=\"a\"></div></body></html>",
            "<items/>",
            "(0 rows)",
            "0 rows in set",
            "None",
            "No results",
            "no results found.",
            "Empty set (0.00 sec)",
            "| id | name |\n|----|------|",
            " id | name\n----+------\n(0 rows)",
            "id,name",
            "id\tcreated_at",
        ] {
            assert_eq!(says(text, ""), Says::Nothing, "{text}");
        }
    }

    #[test]
    fn an_error_is_no_answer() {
        for text in [
            "404 page not found",
            "500 Internal Server Error",
            "HTTP/1.1 502 Bad Gateway",
            "404: Not Found",
            "Not Found",
            r#"{"error":"not found"}"#,
            r#"{"success":false,"message":"no"}"#,
            r#"{"errors":[{"message":"x"}],"data":null}"#,
            r#"{"message":"Not Found","status":"404"}"#,
            "<html>\n<head><title>404 Not Found</title></head>\n<body>\n<h1>404 Not Found</h1>\n<hr>nginx</body></html>",
        ] {
            assert_eq!(says(text, ""), Says::Error, "{text}");
        }
    }

    #[test]
    fn what_says_something_is_heard() {
        for text in [
            "[0, 1]",
            r#"{"data": [{"id": 1}]}"#,
            "plain words",
            "true",
            r#"{"a": {"b": "c"}}"#,
            r#"{"id":1,"name":"x"}"#,
            r#"{"success":true,"id":5}"#,
            r#"{"status":"ok"}"#,
            r#"{"data":{"id":1},"errors":[{"message":"slow"}]}"#,
            r#"{"error":null,"name":"x"}"#,
            "3 passed",
            "0 errors",
            "no errors found in 12 files",
            "404 rows imported",
            "<html><body><h1>Orders</h1></body></html>",
            "<html><body><div id=\"root\"></div><script src=\"/main.js\"></script></body></html>",
            "<user id=\"1\"/>",
            " id | name\n----+------\n  1 | a\n(1 row)",
            "| id | name |\n|----|------|\n| 1 | a |",
            "+-----------+\n| all is on |\n+-----------+",
            "alice,admin",
            "Hello, world",
            "id,name\n1,a",
            "name: alice\nrole: admin",
            "imported: 3\nerrors: []",
            "HTTP/1.1 401 Unauthorized\ncontent-length: 0\nwww-authenticate: Bearer",
            "every route that is not there answers: 404 page not found",
        ] {
            assert_eq!(says(text, ""), Says::Something, "{text}");
        }
    }

    #[test]
    fn a_table_with_nothing_but_its_heading_is_empty() {
        assert_eq!(says("id,name\n\n", "rows.CSV"), Says::Nothing);
        assert_eq!(says("id,name\n1,a\n", "rows.csv"), Says::Something);
    }
}
