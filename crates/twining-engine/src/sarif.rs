//! Findings as SARIF 2.1.0, for code review.

use serde_json::{Value, json};

/// A log of one run, with the rules it went by.
pub(crate) fn sarif_log<'r>(
    tool: &str,
    version: &str,
    rules: impl Iterator<Item = (&'r str, &'r str)>,
    results: impl Iterator<Item = Value>,
) -> Value {
    let results: Vec<Value> = results.collect();
    let rules: Vec<Value> =
        rules.map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } })).collect();
    let driver = json!({ "name": tool, "version": version, "rules": rules });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    })
}

/// One finding, at a file where it is about one.
pub(crate) fn sarif_result(
    rule: &str,
    level: &str,
    message: &str,
    file: Option<&str>,
    line: Option<usize>,
) -> Value {
    let mut result = json!({ "ruleId": rule, "level": level, "message": { "text": message } });
    if let Some(file) = file {
        let mut place = json!({ "artifactLocation": { "uri": uri_of(file) } });
        if let Some(line) = line {
            place["region"] = json!({ "startLine": line.max(1) });
        }
        result["locations"] = json!([{ "physicalLocation": place }]);
    }
    result
}

/// A path as a URI reference.
fn uri_of(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
