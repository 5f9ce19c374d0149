//! Feature lists as they are found: which features a text calls tested.
//!
//! Wider on purpose than the workflow, which must know what a feature is: to a
//! guard, whatever says `tested` anywhere is one more that must be shown. And never
//! narrower: what the workflow would take for tested counts here too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memchr::{memchr, memchr2_iter};
use twining_model::Time;

use crate::guards::builtin::OWN_LIST;
use crate::guards::change::{Proposal, Where};
use crate::guards::judge::Facts;
use crate::guards::path::{Paths, normal};
use crate::guards::seams::Evidence;
use crate::guards::stop::Accepted;
use crate::guards::told_tested;
use crate::workflow::{Feature, FeatureList, Status};

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

/// The features of a list, by the names the workflow has for them; none where it
/// is no list.
#[must_use]
pub fn listed(text: &str) -> BTreeSet<String> {
    let text = text.trim_start_matches('\u{feff}');
    FeatureList::parse(text).map(|list| list.features.into_iter().map(|feature| feature.id).collect()).unwrap_or_default()
}

/// How far the features of a list are, but for those that nobody began: by name, the
/// words for it. None where it is no list.
#[must_use]
pub(crate) fn standing(text: &str) -> Option<Standing> {
    let list = FeatureList::parse(text.trim_start_matches('\u{feff}')).ok()?;
    let begun = list.features.into_iter().filter(|feature| feature.status != Status::Pending);
    Some(begun.map(|feature| (feature.id, BTreeSet::from([feature.status.as_str().to_owned()]))).collect())
}

/// How far features may be, by name; one that is not named may only be pending.
pub(crate) type Standing = BTreeMap<String, BTreeSet<String>>;

/// What may be of features that stand so in one list and so in another.
pub(crate) fn either(one: &Standing, other: &Standing) -> Standing {
    let pending = BTreeSet::from([Status::Pending.as_str().to_owned()]);
    let of = |standing: &Standing, id: &String| standing.get(id).unwrap_or(&pending).clone();
    let ids: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    ids.into_iter().map(|id| (id.clone(), &of(one, id) | &of(other, id))).collect()
}

/// The features of a list that are further, or less far, than they were and than
/// Twining brought them, in words. Whether one is tested is another question.
pub(crate) fn moved_by_another(known: &Standing, since: Option<Time>, after: &str, evidence: &dyn Evidence) -> Vec<String> {
    let Ok(list) = FeatureList::parse(after.trim_start_matches('\u{feff}')) else { return Vec::new() };
    let pending = BTreeSet::from([Status::Pending.as_str().to_owned()]);
    let moved = list.features.iter().filter(|feature| feature.status != Status::Tested).filter_map(|feature| {
        let now = feature.status.as_str();
        let were = known.get(&feature.id).unwrap_or(&pending);
        let brought = evidence.moved(&feature.id);
        let is_newer = brought.as_ref().is_some_and(|(at, _)| since.is_some_and(|since| *at > since));
        let is_brought = brought.as_ref().is_some_and(|(_, status)| status == now);
        if is_brought || (!is_newer && were.contains(now)) {
            return None;
        }
        let was = brought.filter(|_| is_newer).map(|(_, status)| status).or_else(|| were.first().cloned()).unwrap_or_default();
        Some(format!("`{}` is {now} and was {was}", twining_model::text::excerpt(&feature.id, 60)))
    });
    moved.collect()
}

/// The features that one list calls tested and an earlier one does not. A list that
/// was broken before is no reason to trust what comes after it.
pub(crate) fn newly_tested(before: &str, after: &str) -> Result<BTreeSet<String>, NoList> {
    let mut will = Said::read(after)?;
    if will.tested.is_empty() && !will.is_odd {
        return Ok(will.tested);
    }
    let mut was = Said::read(before).unwrap_or_default();
    // Whatever the workflow may call them, they were all told of before.
    if !will.is_odd && will.tested.is_subset(&was.tested) {
        return Ok(BTreeSet::new());
    }
    // Asked about both or neither, so that one feature has the same names in both.
    if was.is_odd || will.is_odd {
        was.ask_the_workflow();
        will.ask_the_workflow();
    }
    Ok(will.tested.difference(&was.tested).cloned().collect())
}

/// What an edit of our own list would do that only a report may; none where it
/// rewords features, or adds some that are still to be done.
pub(crate) fn moved(before: &str, after: &str) -> Option<String> {
    let (was, will) = match (FeatureList::parse(before), FeatureList::parse(after)) {
        (Ok(was), Ok(will)) => (was, will),
        (Err(why), _) | (_, Err(why)) => return Some(format!("the feature list {why}")),
    };
    let name = |feature: &Feature| twining_model::text::excerpt(&feature.id, 60);
    let known: HashMap<&str, &Feature> = will.features.iter().map(|feature| (feature.id.as_str(), feature)).collect();
    let gone = was.features.iter().find(|feature| !known.contains_key(feature.id.as_str()) && feature.status != Status::Pending);
    if let Some(gone) = gone {
        return Some(format!("`{}` would be gone, and it is {}", name(gone), gone.status.as_str()));
    }
    let before: HashMap<&str, &Feature> = was.features.iter().map(|feature| (feature.id.as_str(), feature)).collect();
    let new = Feature::default();
    let moved = will.features.iter().find(|feature| !before.get(feature.id.as_str()).copied().unwrap_or(&new).stands_as(feature));
    moved.map(|moved| format!("`{}` would become {}, which twining_report does", name(moved), moved.status.as_str()))
}

/// Whether a write of which nobody knows what it leaves is about no list: a pattern
/// that no list there is could be meant by, or a file of a list's name that is
/// something else.
pub(crate) fn is_of_none(proposal: &Proposal, facts: &Facts<'_>) -> bool {
    let there = |path: &str| facts.files.read(&normal(facts.root, path));
    // Only this name is also a name for other things.
    let is_other = |path: &str| {
        let speaks = |text: &str| ["\"tested\"", "\"passes\""].iter().any(|word| text.contains(word));
        path == "features.json" && matches!(there(path), Ok(Some(text)) if !text.trim().is_empty() && !speaks(&text))
    };
    match &proposal.at {
        Where::Holes(holes) if !holes.is_made_of_words() => {
            let is_there = |path: &&&str| !matches!(there(path), Ok(None)) && !is_other(path);
            let lists: Vec<String> = Accepted::LISTS.iter().filter(is_there).map(|path| (*path).to_owned()).collect();
            Paths::compile(&lists).is_ok_and(|lists| !lists.could_be(holes))
        }
        // A search goes by the name alone, in whatever folder.
        Where::Holes(holes) if holes.spares_memory => {
            let is_meant = |path: &&&str| {
                let name = path.rsplit('/').next().unwrap_or(path);
                **path != OWN_LIST
                    && !is_other(path)
                    && Paths::compile(&[(**path).to_owned(), name.to_owned()]).is_ok_and(|list| list.could_be(holes))
            };
            !Accepted::LISTS.iter().filter(is_meant).any(|path| !matches!(there(path), Ok(None)))
        }
        Where::Known(path) | Where::Below(path) => is_other(path),
        _ => false,
    }
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
        let found = told_tested::read(text).map_err(|error| NoList(error.to_string()))?;
        Ok(Self { text, tested: found.tested, is_odd: found.is_odd || has_other_words(text) })
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
    let is_one = |at: usize| ["verif", "valid", "passed", "passing"].iter().any(|word| begins(at, word.as_bytes()));
    memchr(b'\\', bytes).is_some() || memchr2_iter(b'v', b'V', bytes).chain(memchr2_iter(b'p', b'P', bytes)).any(is_one)
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
