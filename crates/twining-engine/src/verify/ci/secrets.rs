//! Rule 6: no new record holds a secret.

use std::collections::HashSet;

use serde_json::Value;

use crate::secrets::secrets_in;
use crate::verify::ci::pull_request::{ChangedFile, PullRequest};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "secrets";

pub(in crate::verify) fn check(request: &PullRequest<'_>) -> Vec<CiFinding> {
    request.records().flat_map(in_file).collect()
}

fn in_file(file: &ChangedFile) -> Vec<CiFinding> {
    let (Some(path), Some(after)) = (file.path.as_deref(), file.text_after()) else {
        return Vec::new();
    };
    let before = file.text_before().unwrap_or_default();
    let secret_finding = |line: Option<usize>, kind: &str| {
        let message = format!(
            "a new record contains a secret ({kind}). Revoke it where it was issued, then write the record again without it."
        );
        CiFinding::at(RULE, Severity::Error, path, &message).on(line)
    };
    if path.ends_with(".json") {
        let strings = |text: &str| {
            serde_json::from_str::<Value>(text).map(|value| texts(&value)).unwrap_or_default()
        };
        let known: HashSet<String> = strings(before).into_iter().collect();
        let fresh = strings(after).into_iter().filter(|text| !known.contains(text));
        return fresh
            .flat_map(|text| secrets_in(&text))
            .map(|secret| secret_finding(None, secret.kind))
            .collect();
    }
    let known: HashSet<&str> = before.lines().collect();
    let mut found = Vec::new();
    for (number, line) in (1..).zip(after.lines()).filter(|(_, line)| !known.contains(line)) {
        // A record is scanned by its decoded values, other text as is.
        let parts = serde_json::from_str::<Value>(line)
            .map_or_else(|_| vec![line.to_owned()], |value| texts(&value));
        found.extend(
            parts
                .iter()
                .flat_map(|text| secrets_in(text))
                .map(|secret| secret_finding(Some(number), secret.kind)),
        );
    }
    found
}

/// Every text in a value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(elements) => elements.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
