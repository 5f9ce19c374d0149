//! Feature lists in any format: which features a text marks as tested, and whether a run of their
//! tests is recorded.
//!
//! Deliberately broader than the workflow, which must know what a feature is: here any object with
//! `tested` is a feature, at any depth.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use twining_model::text;

use crate::effects::{Effects, NewContent};
use crate::facts::{EvidenceLookup, Facts, FeatureProof};
use crate::policy::guard::{Guard, GuardAnswer};

/// A list that is no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the feature list is not JSON: {0}")]
pub struct FeatureListError(String);

/// The features a list calls tested, by id, name or place. Flat lists, lists in
/// categories, buckets by status and bare arrays are all read.
pub fn tested(list: &str) -> Result<BTreeSet<String>, FeatureListError> {
    let (list, mut tested) = (parse(list)?, BTreeSet::new());
    walk(&ListItem::root(&list), &mut |item| {
        let is_tested = |fields: &Map<String, Value>| {
            fields.iter().any(|(key, value)| states_tested(key.trim(), value))
        };
        match item.value {
            Value::String(name) if item.in_bucket => drop(tested.insert(name.clone())),
            Value::Object(fields) if item.in_bucket || is_tested(fields) => {
                tested.insert(item.name(fields));
            }
            _ => {}
        }
        true
    });
    Ok(tested)
}

/// The JSON of a list; an empty one is null.
fn parse(list: &str) -> Result<Value, FeatureListError> {
    match list.trim_start_matches('\u{feff}') {
        list if list.trim().is_empty() => Ok(Value::Null),
        list => serde_json::from_str(list).map_err(|error| FeatureListError(error.to_string())),
    }
}

/// Words that lists use for a feature that was shown to work.
const TESTED_WORDS: [&str; 5] = ["tested", "verified", "validated", "passed", "passing"];
/// Fields that name a feature: its ids, and what it is called where it has none.
const IDS: [&str; 4] = ["id", "feature_id", "featureId", "key"];
const NAMES: [&str; 4] = ["description", "name", "title", "feature"];

/// A value of a list and its position.
struct ListItem<'l> {
    value: &'l Value,
    /// The key that holds it.
    key: Option<&'l str>,
    /// The whole way to it, for one that has no name.
    path: String,
    /// Whether it is an item of a list called `tested`.
    in_bucket: bool,
}

impl<'l> ListItem<'l> {
    fn root(value: &'l Value) -> Self {
        Self { value, key: None, path: String::new(), in_bucket: false }
    }

    fn name(&self, fields: &Map<String, Value>) -> String {
        let first = |keys: &[&str]| {
            let name = keys.iter().find_map(|key| shown(fields.get(*key)?));
            name.filter(|name| !name.trim().is_empty())
        };
        let name = first(&IDS).or_else(|| self.key.map(str::to_owned)).or_else(|| first(&NAMES));
        name.unwrap_or_else(|| self.path.clone())
    }
}

/// Visits every value that may be a feature, and what is inside where the visit says so.
fn walk(item: &ListItem<'_>, visit: &mut dyn FnMut(&ListItem<'_>) -> bool) {
    if !visit(item) {
        return;
    }
    match item.value {
        Value::Array(items) => {
            let in_bucket =
                item.in_bucket || item.key.is_some_and(|key| key.eq_ignore_ascii_case("tested"));
            for (at, value) in items.iter().enumerate() {
                let path = format!("{}[{at}]", item.path);
                walk(&ListItem { value, key: None, path, in_bucket }, visit);
            }
        }
        // A list has many texts, and a tool call waits: only what may hold features is gone into.
        Value::Object(fields) => {
            for (key, value) in
                fields.iter().filter(|(_, value)| value.is_object() || value.is_array())
            {
                let dot = if item.path.is_empty() { "" } else { "." };
                let path = format!("{}{dot}{key}", item.path);
                walk(&ListItem { value, key: Some(key), path, in_bucket: false }, visit);
            }
        }
        _ => {}
    }
}

/// Maps each feature id, at any depth, to what `read` returns; descends where it returns `None`.
fn by_id<T>(list: &Value, read: impl Fn(&Map<String, Value>) -> Option<T>) -> BTreeMap<String, T> {
    let mut found = BTreeMap::new();
    walk(&ListItem::root(list), &mut |item| {
        let Value::Object(fields) = item.value else { return true };
        let feature = fields.get("id").and_then(Value::as_str).zip(read(fields));
        feature.map(|(id, what)| found.insert(id.to_owned(), what)).is_none()
    });
    found
}

/// Whether a field says that what it belongs to is tested.
fn states_tested(key: &str, value: &Value) -> bool {
    let is = |name: &str| key.eq_ignore_ascii_case(name);
    let words: &[&str] = match () {
        () if is("tested") || is("passes") => &["true", "yes", "1"],
        () if is("status") || is("state") => &TESTED_WORDS,
        () => return false,
    };
    let word = shown(value).unwrap_or_default();
    words.iter().any(|known| word.trim().eq_ignore_ascii_case(known))
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The features that one list calls tested and an earlier one does not. A list that
/// was broken before is no reason to trust what comes after it.
pub fn newly_tested(before: &str, after: &str) -> Result<BTreeSet<String>, FeatureListError> {
    if before == after {
        return Ok(BTreeSet::new());
    }
    let new = tested(after)?;
    let old = if new.is_empty() { BTreeSet::new() } else { tested(before).unwrap_or_default() };
    Ok(new.difference(&old).cloned().collect())
}

/// The first feature that a list newly calls tested without proof, and what is missing.
#[must_use]
pub fn first_unproven(
    before: &str,
    after: &str,
    evidence: &dyn EvidenceLookup,
) -> Option<(String, String)> {
    newly_tested(before, after).ok()?.into_iter().find_map(|feature| {
        match evidence.proof_of(&feature) {
            FeatureProof::Recorded(_) => None,
            FeatureProof::Missing(why) => Some((feature, why)),
        }
    })
}

/// Whether a call marks a feature tested that was not shown to work.
pub(crate) fn check(guard: &Guard, effects: &Effects, facts: &Facts<'_>) -> GuardAnswer {
    let unproven = guard.concerned(effects).find_map(|change| {
        // What an editor on the command line makes of it is compared when the turn ends.
        let NewContent::Text { before, after: Some(after) } = &*change.content else {
            return None;
        };
        if let Some(feature) = grade_raised(before.as_deref().unwrap_or_default(), after) {
            let effect = format!(
                "`{}` would raise the grade of `{feature}`'s evidence in `{}`",
                change.by, change.path
            );
            return Some(GuardAnswer::about(guard.action, &change.path, effect));
        }
        let (feature, missing) =
            first_unproven(before.as_deref().unwrap_or_default(), after, facts.evidence)?;
        let feature = text::excerpt(&feature, 60);
        let effect = format!("`{}` would mark `{feature}` tested in `{}`", change.by, change.path);
        let answer = GuardAnswer::about(guard.action, &change.path, effect).because(missing);
        Some(answer.instead(format!(
            "run its tests, then `twining report {feature} --role tester --outcome passed`"
        )))
    });
    unproven.unwrap_or_else(|| GuardAnswer::silent("no feature is newly marked tested"))
}

/// The feature whose `verified_by` would vouch for more than it does.
fn grade_raised(before: &str, after: &str) -> Option<String> {
    let grade = |fields: &Map<String, Value>| {
        let source =
            fields.get("verified_by")?.get("source").and_then(Value::as_str).unwrap_or("told");
        Some(["told", "seen", "ci"].iter().position(|grade| *grade == source).unwrap_or_default())
    };
    let grades = |list: &str| {
        let has_grades = list.contains("verified_by");
        by_id(&parse(if has_grades { list } else { "" }).unwrap_or_default(), grade)
    };
    let (was, will) = (grades(before), grades(after));
    let raised = will.into_iter().find(|(id, grade)| was.get(id).is_some_and(|was| was < grade))?;
    Some(text::excerpt(&raised.0, 60))
}

/// What an edit of our own list would do that only a report may; none where it
/// rewords features, or adds some that are still to be done.
pub(crate) fn status_changed(before: &str, after: &str) -> Option<String> {
    let Some(new) = statuses(after) else { return Some("it would no longer be JSON".to_owned()) };
    let old = statuses(before).unwrap_or_default();
    let name = |id: &String| text::excerpt(id, 60);
    if let Some((id, status)) =
        old.iter().find(|(id, status)| !new.contains_key(*id) && *status != PENDING)
    {
        return Some(format!("`{}` is {status} and would be removed", name(id)));
    }
    let moved = new
        .iter()
        .find(|(id, status)| old.get(*id).map_or(PENDING, String::as_str) != status.as_str())?;
    Some(format!("`{}` would become {}", name(moved.0), moved.1))
}

const PENDING: &str = "pending";

/// The status of each feature of our own list; none if it is no JSON.
fn statuses(list: &str) -> Option<BTreeMap<String, String>> {
    let status = |fields: &Map<String, Value>| {
        let is_tested = fields.get("tested").and_then(Value::as_bool) == Some(true);
        let status = fields.get("status").and_then(Value::as_str).unwrap_or(PENDING);
        Some(if is_tested { "tested" } else { status }.to_owned())
    };
    Some(by_id(&parse(list).ok()?, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_list_is_read() {
        let ids = |text: &str| tested(text).expect("a list").into_iter().collect::<Vec<_>>();
        assert_eq!(
            ids(r#"{"features":[{"id":"F1","tested":true},{"id":"F2","tested":false}]}"#),
            ["F1"]
        );
        assert_eq!(
            ids(r#"{"categories":{"a":{"features":[{"id":"PT-003","tested" : true}]}}}"#),
            ["PT-003"]
        );
        assert_eq!(
            ids(r#"{"completed":[{"id":"a","status":"tested"}],"pending":[{"id":"b"}]}"#),
            ["a"]
        );
        assert_eq!(ids(r#"[{"name":"x","tested":true},{"tested":true}]"#), ["[1]", "x"]);
        assert_eq!(ids(r#"{"tested":["F1",{"id":"F2"}],"pending":["F3"]}"#), ["F1", "F2"]);
        assert_eq!(
            ids(r#"{"features":[{"id":"F1","status":"verified"}]}"#),
            ["F1"],
            "a word the workflow takes for it"
        );
        assert_eq!(ids(r#"{"features":[{"id":"F1","test\u0065d":true}]}"#), ["F1"]);
        assert_eq!(ids(""), Vec::<String>::new());

        assert!(tested("{").is_err());
        assert!(tested(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn only_what_is_new_needs_proof() {
        let new = |before: &str, after: &str| {
            newly_tested(before, after).expect("lists").into_iter().collect::<Vec<_>>()
        };
        let before = r#"[{"id":"F","tested":true}]"#;
        assert_eq!(new(before, r#"[{"id":"F","tested":true},{"id":"G","tested":true}]"#), ["G"]);
        assert_eq!(new("{", before), ["F"]);
        assert_eq!(new(before, "[]"), Vec::<String>::new());
    }

    #[test]
    fn our_own_list_is_reworded_and_added_to_by_hand_and_moved_by_reports() {
        let list = r#"{"features":[{"id":"F1","status":"completed","tested":false,"description":"log in"}]}"#;
        assert_eq!(status_changed(list, &list.replace("log in", "sign in")), None);
        assert_eq!(
            status_changed(list, &list.replace("}]", r#"},{"id":"F2","description":"log out"}]"#)),
            None
        );
        assert_eq!(status_changed("", r#"{"features":[{"id":"F1"}]}"#), None);
        assert!(status_changed(list, &list.replace("completed", "in_progress")).is_some());
        assert!(status_changed(list, &list.replace("false", "true")).is_some());
        assert!(status_changed(list, r#"{"features":[]}"#).is_some());
        assert!(status_changed(list, "{").is_some());
    }
}
