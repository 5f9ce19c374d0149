//! SARIF 2.1.0, as code hosts read it.

use serde_json::{Value, json};

use super::report::CiReport;

/// The rules with what each demands.
const RULES: [(&str, &str); 6] = [
    ("clauses", "Nothing is brought in that a decision or the knowledge of the base rules out"),
    ("records", "Records of the base are there, say the same, and can be read"),
    ("features", "A feature that becomes tested is proven by JUnit"),
    ("policy", "Policy and wiring do not become milder"),
    ("authors", "A record in a person's name is in a person's commit"),
    ("secrets", "No new record holds a secret"),
];

/// A report as a SARIF log.
#[must_use]
pub fn sarif(report: &CiReport, version: &str) -> Value {
    let rules: Vec<Value> = RULES.iter().map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } })).collect();
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let mut result = json!({
                "ruleId": finding.rule,
                "level": finding.severity.as_str(),
                "message": { "text": finding.message },
            });
            if let Some(path) = &finding.path {
                let mut place = json!({ "artifactLocation": { "uri": encoded(path) } });
                if let Some(line) = finding.line {
                    place["region"] = json!({ "startLine": line.max(1) });
                }
                result["locations"] = json!([{ "physicalLocation": place }]);
            }
            result
        })
        .collect();
    let driver = json!({ "name": "twining", "version": version, "rules": rules });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    })
}

/// A path as a URI reference.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
