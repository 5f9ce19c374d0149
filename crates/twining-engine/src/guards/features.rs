//! Feature lists as they are found: which features a text calls tested.
//!
//! Wider on purpose than the workflow, which must know what a feature is: to a
//! guard, whatever says `tested` anywhere is one more that must be shown. And never
//! narrower: what the workflow would take for tested counts here too.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::workflow::FeatureList;

/// A list that is no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the feature list is no JSON: {0}")]
pub struct NoList(String);

/// The features a list calls tested, by id, name or place. Flat lists, lists in
/// categories, buckets by status and bare arrays are all walked: an object that
/// says `tested` is a feature wherever it stands.
pub fn tested(text: &str) -> Result<BTreeSet<String>, NoList> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(BTreeSet::new());
    }
    // Bounded by the parser: it refuses more than 128 levels.
    let list: Value = serde_json::from_str(text).map_err(|error| NoList(error.to_string()))?;
    let mut tested = BTreeSet::new();
    let mut todo = vec![(String::new(), &list, false)];
    while let Some((place, value, in_tested)) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items.iter().enumerate().map(|(at, item)| (format!("{place}[{at}]"), item, in_tested))),
            Value::Object(fields) => {
                let name = ["id", "feature_id", "name", "title", "description"].iter().find_map(|key| match fields.get(*key) {
                    Some(Value::String(name)) => Some(name.clone()),
                    Some(Value::Number(number)) => Some(number.to_string()),
                    _ => None,
                });
                let says = fields.iter().any(|(key, value)| says_tested(key, value));
                if says || (in_tested && name.is_some()) {
                    tested.insert(name.unwrap_or_else(|| place.clone()));
                }
                todo.extend(fields.iter().map(|(key, value)| {
                    let bucket = key.eq_ignore_ascii_case("tested") && value.is_array();
                    (if place.is_empty() { key.clone() } else { format!("{place}.{key}") }, value, bucket)
                }));
            }
            Value::String(name) if in_tested => {
                tested.insert(name.clone());
            }
            _ => {}
        }
    }
    // Words for it that only the workflow knows, such as `verified`.
    if let Ok(list) = FeatureList::parse(text) {
        tested.extend(list.features.into_iter().filter(|feature| feature.tested).map(|feature| feature.id));
    }
    Ok(tested)
}

fn says_tested(key: &str, value: &Value) -> bool {
    let is_yes = match value {
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() == Some(1.0),
        Value::String(word) => matches!(word.trim().to_lowercase().as_str(), "true" | "yes" | "1"),
        _ => false,
    };
    let is_status = matches!(value, Value::String(word) if word.trim().eq_ignore_ascii_case("tested"));
    match key.trim().to_lowercase().as_str() {
        "tested" | "passes" => is_yes,
        "status" | "state" => is_status,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_list_is_read() {
        let ids = |text: &str| tested(text).expect("a list").into_iter().collect::<Vec<_>>();
        assert_eq!(ids(r#"{"features":[{"id":"F1","tested":true},{"id":"F2","tested":false}]}"#), ["F1"]);
        assert_eq!(ids(r#"{"categories":{"a":{"features":[{"id":"PT-003","tested" : true}]}}}"#), ["PT-003"]);
        assert_eq!(ids(r#"{"completed":[{"id":"a","status":"tested"}],"pending":[{"id":"b"}]}"#), ["a"]);
        // One without a name has one for its place, and the one that the workflow gives it.
        assert_eq!(ids(r#"[{"name":"x","tested":true},{"tested":true}]"#), ["[1]", "unnamed", "x"]);
        assert_eq!(ids(r#"{"tested":["F1",{"id":"F2"}],"pending":["F3"]}"#), ["F1", "F2"]);
        assert_eq!(ids(r#"{"features":[{"id":"F1","status":"verified"}]}"#), ["F1"], "a word the workflow takes for it");
        assert_eq!(ids(r#"{"features":[{"id":"F1","test\u0065d":true}]}"#), ["F1"]);
        assert_eq!(ids(""), Vec::<String>::new());
        assert_eq!(ids(r#"{"features":[],"metadata":{"total":0}}"#), Vec::<String>::new());
        assert!(tested("{").is_err());
        assert!(tested(&"[".repeat(100_000)).is_err());
    }
}
