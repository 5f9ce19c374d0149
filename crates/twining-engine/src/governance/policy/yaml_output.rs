//! A patch as the YAML a person edits: what an import writes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::governance::policy::overlay::{GatePatch, PolicyPatch, Settings};

/// The patch as `policy.yml`, under a comment of these lines. Reading it back
/// gives the same values.
pub(crate) fn to_yaml(patch: &PolicyPatch, comment: &str) -> String {
    let mut yaml: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    for (part, entries) in [
        ("roles", entries(&patch.roles, |role| settings("    ", role))),
        ("gates", entries(&patch.gates, gate)),
        ("modes", entries(&patch.modes, |mode| settings("    ", mode))),
    ] {
        if !entries.is_empty() {
            yaml.push_str(&format!("\n{part}:\n{entries}"));
        }
    }
    yaml
}

fn entries<T>(all: &BTreeMap<String, T>, body: impl Fn(&T) -> String) -> String {
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = |name: &str| if is_plain(name) { name.to_owned() } else { quoted(name) };
    all.iter().map(|(key, one)| format!("  {}:\n{}", name(key), body(one))).collect()
}

fn gate(gate: &GatePatch) -> String {
    let profile = |((low, high), cell)| {
        format!("      - complexity_range: [{low}, {high}]\n{}", settings("        ", cell))
    };
    std::iter::once("    overrides:\n".to_owned())
        .chain(gate.ranges().into_iter().map(profile))
        .collect()
}

/// JSON is YAML.
fn settings(indent: &str, settings: &Settings) -> String {
    let mut yaml: String = settings
        .values
        .iter()
        .map(|(key, value)| format!("{indent}{key}: {}\n", value.value))
        .collect();
    for (key, list) in &settings.lists {
        let added = Some(&list.added).filter(|added| !added.is_empty());
        for (suffix, items) in [("", list.replaced.as_ref()), ("_additions", added)] {
            let Some(items) = items else { continue };
            yaml.push_str(&format!(
                "{indent}{key}{suffix}:{}\n",
                if items.is_empty() { " []" } else { "" }
            ));
            items
                .iter()
                .for_each(|item| yaml.push_str(&format!("{indent}  - {}\n", quoted(&item.value))));
        }
    }
    yaml
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
