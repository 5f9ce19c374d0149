//! Merges two branches' feature lists, in any format.
//!
//! Features are matched by id at any depth. A feature that both sides changed gets no further than
//! both agree: it is tested only if each side tested it, and of two statuses the lesser wins.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use twining_model::{EvidenceSource, text};
use twining_store::merge::lossless_json::{JsonNode, has_unique_keys};
use twining_store::merge::{
    CLASHES, FileMergeError, MergeFunctions, Merged, RecordMerge, Versions, resolve_conflict,
};

use crate::workflow::feature::{Feature, FeatureStatus, PASSES, SPELLINGS, TESTED};
use crate::workflow::json_spans::{self, JsonKind, TextRange};
use crate::workflow::list::{FeatureList, bucket_status};

/// Placeholder for a feature while the list around it is merged; no JSON begins with it.
const MARK: char = '@';
/// Members that, like those with several names, describe a feature's progress or content: a side
/// that changed one affects whether it is tested.
const EVIDENCE: &[&str] = &["evidence", "test_evidence"];

/// Merges feature lists of any shape.
pub fn merge_features(versions: &Versions<'_>) -> Result<Merged, FileMergeError> {
    if let Some(trivial_merge) = versions.trivial_merge() {
        return Ok(trivial_merge);
    }
    let (first, second) = versions.ordered();
    let one = SplitList::read(first, versions.name(first))?;
    let other = SplitList::read(second, versions.name(second))?;
    // A base that cannot be read decides nothing.
    let base = SplitList::read(versions.base, "the common ancestor").unwrap_or_default();

    let mut contested = Vec::new();
    let mut features: BTreeMap<&String, JsonNode> = BTreeMap::new();
    for id in one.nodes.keys().chain(other.nodes.keys()) {
        let from = base.nodes.get(id);
        let merged = match (one.nodes.get(id), other.nodes.get(id)) {
            (Some(left), Some(right)) if left == right || from == Some(right) => left.clone(),
            (Some(left), Some(right)) if from == Some(left) => right.clone(),
            (Some(left), Some(right)) => {
                let (merged, clashes) = RecordMerge::record(from, left, right, &lesser);
                let name = text::excerpt(id, 60);
                contested.extend(
                    clashes
                        .iter()
                        .map(|clash| format!("{name}: {}", text::excerpt(&clash.field, 60))),
                );
                no_further(merged, from, [(left, one.list.get(id)), (right, other.list.get(id))])
            }
            (Some(only), None) | (None, Some(only)) if from != Some(only) => only.clone(),
            _ => continue,
        };
        features.insert(id, merged);
    }
    contested.sort();
    contested.dedup();

    let (mut surroundings, clashes) = match (&one.surroundings, &other.surroundings) {
        (Some(left), Some(right)) => {
            RecordMerge::record(base.surroundings.as_ref(), left, right, &|_, _, _, _| None)
        }
        (Some(only), None) | (None, Some(only)) => (only.clone(), Vec::new()),
        (None, None) => return Ok(Merged::default()),
    };
    contested.extend(clashes.iter().map(|clash| text::excerpt(&clash.field, 60)));
    let mut homes: BTreeMap<String, usize> = BTreeMap::new();
    each_mark(&surroundings, None, &mut |id, bucket| {
        homes
            .entry(id.to_owned())
            .and_modify(|least| *least = rank(bucket).min(*least))
            .or_insert(rank(bucket));
    });
    fill(&mut surroundings, None, &features, &mut homes);

    let mut text = print(&surroundings, first);
    for (id, feature) in features.iter().filter(|(id, _)| !homes.contains_key(**id)) {
        // The side that did not change it removed its place.
        let fields: Map<String, Value> =
            serde_json::from_str(&feature.to_compact()).unwrap_or_default();
        text =
            FeatureList::parse(&text).map_or(text.clone(), |list| list.with_feature(id, &fields));
    }
    Ok(Merged { text: text.into_bytes(), contested })
}

/// What a feature list is made of.
pub(crate) const LIST: MergeFunctions = MergeFunctions {
    // A duplicate member means that two versions were mixed.
    is_whole: |text| has_unique_keys(text) && is_list(text),
    join: |versions| merge_features(versions).ok().map(|merged| merged.text),
};

/// A list's text as one list, whatever git left in it.
pub(crate) fn one_list(text: &str) -> Option<String> {
    String::from_utf8(resolve_conflict(text.as_bytes(), &LIST)?).ok()
}

fn is_list(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| FeatureList::parse(text).is_ok())
}

/// A list split into its features and the text around them.
#[derive(Default)]
struct SplitList {
    list: FeatureList,
    nodes: BTreeMap<String, JsonNode>,
    surroundings: Option<JsonNode>,
}

impl SplitList {
    fn read(bytes: &[u8], side: &'static str) -> Result<Self, FileMergeError> {
        let unreadable = |why: String| FileMergeError::Unreadable { side, why };
        let text =
            std::str::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
        let text = text.trim_start_matches('\u{FEFF}');
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let list = FeatureList::parse(text).map_err(|why| unreadable(format!("it {why}")))?;
        let places: BTreeMap<usize, String> = list
            .places()
            .iter()
            .zip(&list.features)
            .map(|(at, feature)| (at.start, feature.id.clone()))
            .collect();
        let root = json_spans::whole(text).map_err(|error| unreadable(error.to_string()))?;
        let mut nodes = BTreeMap::new();
        let surroundings = Some(split(text, &root, &places, &mut nodes, DEPTH));
        Ok(Self { list, nodes, surroundings })
    }
}

/// How deep features are looked for; the list itself looks no deeper.
const DEPTH: usize = 16;

fn split(
    text: &str,
    at: &TextRange,
    places: &BTreeMap<usize, String>,
    nodes: &mut BTreeMap<String, JsonNode>,
    depth: usize,
) -> JsonNode {
    let whole = || {
        JsonNode::parse(&text[at.clone()])
            .unwrap_or_else(|_| JsonNode::Leaf(text[at.clone()].to_owned()))
    };
    if let Some(id) = places.get(&at.start) {
        nodes.insert(id.clone(), whole());
        return JsonNode::Leaf(format!("{MARK}{id}"));
    }
    if depth == 0 || places.range(at.start..at.end).next().is_none() {
        return whole();
    }
    match json_spans::kind(text, at) {
        JsonKind::Object => {
            let members = json_spans::members(text, at).into_iter();
            JsonNode::Object(
                members
                    .map(|(key, at)| (key.into_owned(), split(text, &at, places, nodes, depth - 1)))
                    .collect(),
            )
        }
        JsonKind::Array => {
            let elements = json_spans::elements(text, at).into_iter();
            JsonNode::Array(elements.map(|at| split(text, &at, places, nodes, depth - 1)).collect())
        }
        JsonKind::Other => whole(),
    }
}

/// Of two states the lesser; one that needs a person before all.
fn lesser(
    path: &[&str],
    _: Option<&JsonNode>,
    one: &JsonNode,
    other: &JsonNode,
) -> Option<JsonNode> {
    let pick = |first: bool| Some(if first { one.clone() } else { other.clone() });
    match path {
        ["status" | "state"] => {
            let [left, right] =
                [one, other].map(|node| node.as_text().and_then(|word| FeatureStatus::read(&word)));
            let (left, right) = (left?, right?);
            pick(
                left == FeatureStatus::Blocked
                    || (right != FeatureStatus::Blocked && left <= right),
            )
        }
        ["retries" | "retry_count" | "retry"] => {
            let [left, right] = [one, other].map(|node| node.to_compact().parse::<u64>().ok());
            pick(left? >= right?)
        }
        ["verified_by", "source"] => {
            let [left, right] = [one, other].map(|node| {
                node.as_text()
                    .and_then(|word| serde_json::from_value::<EvidenceSource>(word.into()).ok())
            });
            pick(left? <= right?)
        }
        [TESTED | PASSES] => Some(JsonNode::Leaf("false".to_owned())),
        _ => None,
    }
}

/// Takes back what only one side can vouch for: a feature that the other side has
/// worked on since is not tested.
fn no_further(
    mut merged: JsonNode,
    base: Option<&JsonNode>,
    sides: [(&JsonNode, Option<&Feature>); 2],
) -> JsonNode {
    let is_tested = |feature: Option<&Feature>| {
        feature.is_some_and(|feature| feature.tested || feature.status == FeatureStatus::Tested)
    };
    let worked_on = |node: &JsonNode| {
        SPELLINGS
            .iter()
            .copied()
            .chain([EVIDENCE])
            .flatten()
            .any(|field| node.get(field) != base.and_then(|base| base.get(field)))
    };
    if !sides.iter().any(|(node, feature)| !is_tested(*feature) && worked_on(node)) {
        return merged;
    }
    let flag =
        if merged.get(PASSES).is_some() && merged.get(TESTED).is_none() { PASSES } else { TESTED };
    if sides.iter().any(|(_, feature)| is_tested(*feature)) {
        merged.set(flag, JsonNode::Leaf("false".to_owned()));
    }
    for field in ["status", "state"] {
        if merged
            .get(field)
            .and_then(JsonNode::as_text)
            .is_some_and(|word| FeatureStatus::read(&word) == Some(FeatureStatus::Tested))
        {
            merged.set(field, JsonNode::text(FeatureStatus::Completed.as_str()));
        }
    }
    merged
}

fn mark_of(node: &JsonNode) -> Option<&str> {
    match node {
        JsonNode::Leaf(raw) => raw.strip_prefix(MARK),
        _ => None,
    }
}

/// Every place a feature has, with the state its bucket is named after.
fn each_mark(
    node: &JsonNode,
    bucket: Option<FeatureStatus>,
    found: &mut dyn FnMut(&str, Option<FeatureStatus>),
) {
    match node {
        JsonNode::Leaf(_) => mark_of(node).into_iter().for_each(|id| found(id, bucket)),
        JsonNode::Array(elements) => {
            elements.iter().for_each(|element| each_mark(element, bucket, found));
        }
        JsonNode::Object(members) => {
            members.iter().for_each(|(key, value)| each_mark(value, bucket_status(key), found));
        }
    }
}

/// Puts the features back, and returns whether a node stays. A feature that both sides moved has
/// two places, and keeps the less advanced one.
fn fill(
    node: &mut JsonNode,
    bucket: Option<FeatureStatus>,
    features: &BTreeMap<&String, JsonNode>,
    homes: &mut BTreeMap<String, usize>,
) -> bool {
    if let Some(id) = mark_of(node).map(str::to_owned) {
        let feature = features.get(&id).filter(|_| homes.get(&id) == Some(&rank(bucket)));
        let stays = feature.is_some() && homes.insert(id, usize::MAX).is_some();
        if let Some(feature) = feature {
            *node = feature.clone();
        }
        return stays;
    }
    match node {
        JsonNode::Array(elements) => {
            elements.retain_mut(|element| fill(element, bucket, features, homes));
        }
        JsonNode::Object(members) => {
            members.retain_mut(|(key, value)| {
                key == CLASHES || fill(value, bucket_status(key), features, homes)
            });
        }
        JsonNode::Leaf(_) => {}
    }
    true
}

/// How far a bucket says that a feature is; less comes first.
fn rank(bucket: Option<FeatureStatus>) -> usize {
    bucket
        .filter(|status| *status != FeatureStatus::Blocked)
        .map_or(0, |status| 1 + status as usize)
}

/// In the layout of the list it came from.
fn print(node: &JsonNode, like: &[u8]) -> String {
    let like = String::from_utf8_lossy(like);
    if !like.trim().contains('\n') {
        return format!("{}\n", node.to_compact());
    }
    let indent = like
        .lines()
        .skip(1)
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .find(|spaces| *spaces > 0);
    format!("{}\n", node.to_pretty(indent.unwrap_or(2).min(8)))
}
