//! Looking at a `.twining` folder from outside, as `jq` would.

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
