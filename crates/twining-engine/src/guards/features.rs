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
    let mut said = Said::read(text)?;
    said.ask_the_workflow();
    Ok(said.tested)
}

/// The features that one list calls tested and an earlier one does not. A list that
/// was broken before is no reason to trust what comes after it.
pub(crate) fn newly_tested(before: &str, after: &str) -> Result<BTreeSet<String>, NoList> {
    let mut will = Said::read(after)?;
    if will.tested.is_empty() && !will.is_odd {
        return Ok(will.tested);
    }
    let mut was = Said::read(before).unwrap_or_default();
    // Asked about both or neither, so that one feature has the same names in both.
    if was.is_odd || will.is_odd {
        was.ask_the_workflow();
        will.ask_the_workflow();
    }
    Ok(will.tested.difference(&was.tested).cloned().collect())
}

/// What a list says by itself.
#[derive(Default)]
struct Said<'t> {
    text: &'t str,
    tested: BTreeSet<String>,
    /// Whether the workflow may find more in it.
    is_odd: bool,
}

impl<'t> Said<'t> {
    fn read(text: &'t str) -> Result<Self, NoList> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // Bounded by the parser: it refuses more than 128 levels.
        let list: Value = serde_json::from_str(text).map_err(|error| NoList(error.to_string()))?;
        let mut said = Self { text, tested: BTreeSet::new(), is_odd: has_other_words(text) };
        walk(&list, None, false, &mut said.tested, &mut said.is_odd);
        Ok(said)
    }

    /// Adds what only the workflow takes for tested.
    fn ask_the_workflow(&mut self) {
        if let Ok(list) = FeatureList::parse(self.text) {
            self.tested.extend(list.features.into_iter().filter(|feature| feature.tested).map(|feature| feature.id));
        }
    }
}

/// Whether a word may stand in a list that only the workflow takes for tested:
/// `verified`, `validated`, `passed`, `passing`; or something spelt with escapes.
fn has_other_words(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins = |at: usize, word: &[u8]| bytes.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word));
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'v' | b'V' => begins(at, b"verif") || begins(at, b"valid"),
        b'p' | b'P' => begins(at, b"passed") || begins(at, b"passing"),
        b'\\' => true,
        _ => false,
    })
}

/// Where a value stands; told only for one that has no name.
struct Place<'p> {
    outer: Option<&'p Place<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Key(&'p str),
    At(usize),
}

impl Place<'_> {
    fn told(&self) -> String {
        let outer = self.outer.map(Place::told).unwrap_or_default();
        match self.step {
            Step::Key(key) if outer.is_empty() => key.to_owned(),
            Step::Key(key) => format!("{outer}.{key}"),
            Step::At(at) => format!("{outer}[{at}]"),
        }
    }
}

/// Goes as deep as the parser, which refuses more than 128 levels.
fn walk(value: &Value, place: Option<&Place<'_>>, in_tested: bool, tested: &mut BTreeSet<String>, is_odd: &mut bool) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(item, Some(&Place { outer: place, step: Step::At(at) }), in_tested, tested, is_odd);
            }
        }
        Value::Object(fields) => {
            let says = fields.iter().any(|(key, value)| says_tested(key, value));
            if says || in_tested {
                let name = ["id", "feature_id", "name", "title", "description"].iter().find_map(|key| match fields.get(*key) {
                    Some(Value::String(name)) => Some(name.clone()),
                    Some(Value::Number(number)) => Some(number.to_string()),
                    _ => None,
                });
                *is_odd |= name.is_none();
                if says || name.is_some() {
                    tested.insert(name.unwrap_or_else(|| place.map(Place::told).unwrap_or_default()));
                }
            }
            for (key, value) in fields {
                let is_named = key.eq_ignore_ascii_case("tested");
                let bucket = is_named && value.is_array();
                *is_odd |= is_named && !value.is_boolean();
                walk(value, Some(&Place { outer: place, step: Step::Key(key) }), bucket, tested, is_odd);
            }
        }
        Value::String(name) if in_tested => {
            tested.insert(name.clone());
        }
        _ => {}
    }
}

fn says_tested(key: &str, value: &Value) -> bool {
    let is_yes = || match value {
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() == Some(1.0),
        Value::String(word) => matches!(word.trim().to_lowercase().as_str(), "true" | "yes" | "1"),
        _ => false,
    };
    let is_status = matches!(value, Value::String(word) if word.trim().eq_ignore_ascii_case("tested"));
    let is = |name: &str| key.trim().eq_ignore_ascii_case(name);
    ((is("tested") || is("passes")) && is_yes()) || ((is("status") || is("state")) && is_status)
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

        assert!(tested("{").is_err());
        assert!(tested(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_feature_has_the_same_names_before_and_after() {
        let new = |before: &str, after: &str| newly_tested(before, after).expect("lists").into_iter().collect::<Vec<_>>();
        let before = r#"[{"description":"Log out everywhere","tested":true}]"#;
        // A word that only the workflow knows comes in, and nothing else changes.
        let after = r#"[{"description":"Log out everywhere","tested":true},{"id":"G","status":"pending","note":"passed on"}]"#;
        assert_eq!(new(before, after), Vec::<String>::new());
        assert_eq!(new(before, &after.replace("pending", "verified")), ["G"]);
        assert_eq!(new("{", r#"[{"id":"F","tested":true}]"#), ["F"]);
        assert_eq!(new(before, "[]"), Vec::<String>::new());
    }
}
