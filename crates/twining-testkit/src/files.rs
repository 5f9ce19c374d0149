//! Looking at a `.twining` folder from outside, as `jq` would.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// Every line of the blackboard as JSON; a line that is not JSON is an error.
pub fn board(project: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(project.join(".twining/blackboard.jsonl"))
        .map_err(|e| e.to_string())?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|e| format!("{e}: {line}")))
        .collect()
}

/// The ids on the blackboard, in order.
pub fn board_ids(project: &Path) -> Result<Vec<String>, String> {
    Ok(board(project)?.iter().filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect())
}

/// The ids of the anchors, in order.
pub fn anchor_ids(project: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(project.join(".twining/anchors.jsonl")).unwrap_or_default();
    let id = |line: &str| {
        let anchor: Value = serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))?;
        Ok(anchor["id"].as_str().unwrap_or_default().to_owned())
    };
    text.lines().map(id).collect()
}

/// A JSON file in the folder.
pub fn json(project: &Path, path: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(project.join(".twining").join(path))
        .map_err(|e| format!("{path}: {e}"))?;
    serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))
}

/// The ids in an array file, in order.
pub fn array_ids(project: &Path, path: &str) -> Result<Vec<String>, String> {
    let value = json(project, path)?;
    let elements = value.as_array().ok_or_else(|| format!("{path} is no array"))?;
    Ok(elements.iter().filter_map(|element| element["id"].as_str().map(str::to_owned)).collect())
}

/// Everything that is tracked and shared in a folder, by path, but for the archive: arrays by
/// element, lines in an order of their own, members of objects by name.
#[must_use]
pub fn shared_state(project: &Path) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    let root = project.join(".twining");
    let mut folders: Vec<_> = root.exists().then(|| root.clone()).into_iter().collect();
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).expect("the folder can be listed").flatten() {
            let path = file.path();
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                folders
                    .extend(Some(path).filter(|_| !["local", "archive"].contains(&name.as_str())));
            } else if twining_store::DEFAULT_FILES.iter().all(|(known, _)| *known != name) {
                let text = std::fs::read_to_string(&path).expect("the file can be read");
                state.extend(parts_of(&name, &text));
            }
        }
    }
    state
}

fn parts_of(name: &str, text: &str) -> Vec<(String, String)> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(elements)) => elements
            .iter()
            .map(|element| {
                (format!("{name} {}{}", element["id"], element["agent_id"]), sorted(element))
            })
            .collect(),
        // A folder that nobody wrote to yet may lack what is empty.
        _ if text.is_empty() => Vec::new(),
        _ if name.ends_with(".jsonl") => {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            vec![(name.to_owned(), lines.join("\n"))]
        }
        Ok(value) => vec![(name.to_owned(), sorted(&value))],
        Err(_) => vec![(name.to_owned(), text.to_owned())],
    }
}

/// A value as text, whatever the order of its members.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, String> =
                members.iter().map(|(name, value)| (name, sorted(value))).collect();
            format!("{members:?}")
        }
        Value::Array(elements) => {
            format!("{:?}", elements.iter().map(sorted).collect::<Vec<_>>())
        }
        other => other.to_string(),
    }
}
