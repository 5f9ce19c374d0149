//! A patch as the YAML a person edits: what `seed` and `import` write.

use crate::governance::policy::patch::{Cell, ListPatch, Patch};

/// The patch as `policy.yml`, under a comment of these lines. Reading it back
/// gives the same values.
pub(crate) fn to_yaml(patch: &Patch, comment: &str) -> String {
    let mut yaml = String::new();
    comment.lines().for_each(|line| yaml.push_str(&format!("{}\n", format!("# {line}").trim_end())));
    if !patch.roles.is_empty() {
        yaml.push_str("\nroles:\n");
    }
    for (name, role) in &patch.roles {
        line(&mut yaml, 2, name, None);
        list(&mut yaml, "must_do", &role.must_do);
        list(&mut yaml, "must_not_do", &role.must_not_do);
        list(&mut yaml, "ask_before", &role.ask_before);
        list(&mut yaml, "escalate_when", &role.escalate_when);
    }
    if !patch.gates.is_empty() {
        yaml.push_str("\ngates:\n");
    }
    for (name, gate) in &patch.gates {
        line(&mut yaml, 2, name, None);
        line(&mut yaml, 4, "overrides", None);
        for ((low, high), cell) in gate.ranges() {
            yaml.push_str(&format!("      - complexity_range: [{low}, {high}]\n"));
            values(&mut yaml, cell);
        }
    }
    if !patch.modes.is_empty() {
        yaml.push_str("\nmodes:\n");
    }
    for (name, mode) in &patch.modes {
        line(&mut yaml, 2, name, None);
        let range = mode.complexity_range.as_ref().map(|range| format!("[{}, {}]", range.value.0, range.value.1));
        let quoted_of = |text: &Option<twining_guard::policy::source::Sourced<String>>| text.as_ref().map(|text| quoted(&text.value));
        for (key, value) in [
            ("ceremony_level", mode.ceremony_level.as_ref().map(|level| level.value.as_str().to_owned())),
            ("complexity_range", range),
            ("invocation_method", quoted_of(&mode.invocation_method)),
            ("result_location_pattern", quoted_of(&mode.result_location_pattern)),
            ("state_recovery_strategy", quoted_of(&mode.state_recovery_strategy)),
        ] {
            if let Some(value) = value {
                line(&mut yaml, 4, key, Some(&value));
            }
        }
        list(&mut yaml, "when_to_use", &mode.when_to_use);
        list(&mut yaml, "pitfalls", &mode.pitfalls);
    }
    yaml
}

fn values(yaml: &mut String, cell: &Cell) {
    for (key, value) in [
        ("arch_review_required", cell.arch_review_required.as_ref().map(|flag| flag.value.to_string())),
        ("arch_review_threshold", cell.arch_review_threshold.as_ref().map(|score| score.value.to_string())),
        ("coverage_required", cell.coverage_required.as_ref().map(|flag| flag.value.to_string())),
        ("coverage_threshold", cell.coverage_threshold.as_ref().map(|percent| percent.value.fraction().to_string())),
        ("tests_required", cell.tests_required.as_ref().map(|flag| flag.value.to_string())),
        ("tests_must_pass", cell.tests_must_pass.as_ref().map(|flag| flag.value.to_string())),
    ] {
        if let Some(value) = value {
            line(yaml, 8, key, Some(&value));
        }
    }
}

fn list(yaml: &mut String, key: &str, list: &ListPatch) {
    let additions = format!("{key}_additions");
    for (key, items) in [(key, list.replaced.as_ref()), (additions.as_str(), Some(&list.added).filter(|added| !added.is_empty()))] {
        let Some(items) = items else { continue };
        line(yaml, 4, key, items.is_empty().then_some("[]"));
        items.iter().for_each(|item| yaml.push_str(&format!("      - {}\n", quoted(&item.value))));
    }
}

fn line(yaml: &mut String, indent: usize, key: &str, value: Option<&str>) {
    let value = value.map_or_else(String::new, |value| format!(" {value}"));
    let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let key = if is_plain { key.to_owned() } else { quoted(key) };
    yaml.push_str(&format!("{:indent$}{key}:{value}\n", ""));
}

/// A JSON string is a YAML string in double quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
