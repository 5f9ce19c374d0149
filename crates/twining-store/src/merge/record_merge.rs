//! Three versions of one JSON value as one.
//!
//! A member that one side changed is taken from it; lists are joined element by
//! element; where both sides say different things the later record wins, and the
//! other word is kept beside it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use twining_model::{DecisionStatus, Time};

use super::lossless_json::JsonNode;

/// The member in which a record keeps the words that lost.
pub const CLASHES: &str = "merge_clashes";
/// Fields that identify list elements; the first that an element has counts.
const NAMES: [&str; 7] = ["id", "agent_id", "hash", "option", "name", "title", "category"];
/// Times of which the later counts.
const LATER: [&str; 5] = ["updated_at", "last_active", "linked_at", "acknowledged_at", "last_seen"];
/// Times of which the earlier counts.
const EARLIER: [&str; 3] = ["created_at", "registered_at", "timestamp"];

/// Fields that identify a record's writer.
const WRITER: [&str; 2] = ["agent_id", "origin"];

/// A member on which both sides had their own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// Its path within the record.
    pub field: String,
    /// The value that was kept.
    pub kept: JsonNode,
    /// The other one.
    pub other: JsonNode,
}

/// Settles a member by what it means: its path, then base, one side and the other.
pub(super) type MergeRule<'r> =
    dyn Fn(&[&str], Option<&JsonNode>, &JsonNode, &JsonNode) -> Option<JsonNode> + 'r;

/// A merge of one record at work.
pub struct RecordMerge<'r> {
    rule: &'r MergeRule<'r>,
    /// Which side wins where nothing else decides.
    later: Ordering,
    /// Where both had their own word.
    clashes: Vec<FieldConflict>,
}

/// Which of two records was written later. By their own times, else by their text.
fn compare(one: &JsonNode, other: &JsonNode) -> Ordering {
    touched(one).cmp(&touched(other)).then_with(|| one.to_compact().cmp(&other.to_compact()))
}

fn touched(record: &JsonNode) -> Option<i64> {
    let own = LATER.iter().chain(&EARLIER).filter_map(|name| record.get(name));
    let history = match record.get("history") {
        Some(JsonNode::Array(changes)) => {
            changes.iter().filter_map(|change| change.get("at")).collect()
        }
        _ => Vec::new(),
    };
    own.chain(history).filter_map(time_of).max()
}

fn time_of(node: &JsonNode) -> Option<i64> {
    node.as_text().and_then(|text| Time::read(&text)).map(Time::as_ms)
}

impl<'r> RecordMerge<'r> {
    /// Merges two versions of a record by this rule and by what every file means
    /// by its times and states; disagreements are added to the record.
    pub fn record(
        base: Option<&JsonNode>,
        one: &JsonNode,
        other: &JsonNode,
        rule: &'r MergeRule<'r>,
    ) -> (JsonNode, Vec<FieldConflict>) {
        Self::merge_in_order(base, one, other, rule, compare(one, other))
    }

    /// Merges two elements of one file with the same id. If their times do not decide, the one
    /// further down is the later.
    #[must_use]
    pub fn merge_duplicates(upper: &JsonNode, lower: &JsonNode) -> JsonNode {
        let later =
            if touched(upper) > touched(lower) { Ordering::Greater } else { Ordering::Less };
        RecordMerge::merge_in_order(None, upper, lower, &|_, _, _, _| None, later).0
    }

    fn merge_in_order(
        base: Option<&JsonNode>,
        one: &JsonNode,
        other: &JsonNode,
        rule: &'r MergeRule<'r>,
        later: Ordering,
    ) -> (JsonNode, Vec<FieldConflict>) {
        let mut merging = Self { rule, later, clashes: Vec::new() };
        let mut merged = merging.join(&mut Vec::new(), base, one, other);
        let clashes = merging.clashes;
        if !clashes.is_empty() && matches!(merged, JsonNode::Object(_)) {
            let mut recorded = match merged.get(CLASHES) {
                Some(JsonNode::Array(recorded)) => recorded.clone(),
                _ => Vec::new(),
            };
            for clash in &clashes {
                let element = JsonNode::Object(vec![
                    ("field".to_owned(), JsonNode::text(&clash.field)),
                    ("kept".to_owned(), clash.kept.clone()),
                    ("other".to_owned(), clash.other.clone()),
                ]);
                if !recorded.contains(&element) {
                    recorded.push(element);
                }
            }
            recorded.sort();
            merged.set(CLASHES, JsonNode::Array(recorded));
        }
        (merged, clashes)
    }

    fn join(
        &mut self,
        path: &mut Vec<String>,
        base: Option<&JsonNode>,
        one: &JsonNode,
        other: &JsonNode,
    ) -> JsonNode {
        if one == other || base == Some(other) {
            return one.clone();
        }
        if base == Some(one) {
            return other.clone();
        }
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(by_rule) =
            (self.rule)(&names, base, one, other).or_else(|| merge_known_field(&names, one, other))
        {
            return by_rule;
        }
        match (one, other) {
            // The last writer counts, as a whole: half of one and half of the other is nobody.
            _ if names.last().is_some_and(|name| WRITER.contains(name)) => {
                self.by_time(one, other).0.clone()
            }
            (JsonNode::Object(one), JsonNode::Object(other)) => {
                self.objects(path, base, one, other)
            }
            (JsonNode::Array(one), JsonNode::Array(other)) => self.arrays(path, base, one, other),
            _ => {
                let (kept, lost) = self.by_time(one, other);
                self.clashes.push(FieldConflict {
                    field: path.join("."),
                    kept: kept.clone(),
                    other: lost.clone(),
                });
                kept.clone()
            }
        }
    }

    /// The later of two, and the earlier.
    fn by_time<'n>(&self, one: &'n JsonNode, other: &'n JsonNode) -> (&'n JsonNode, &'n JsonNode) {
        if self.later == Ordering::Greater { (one, other) } else { (other, one) }
    }

    fn objects(
        &mut self,
        path: &mut Vec<String>,
        base: Option<&JsonNode>,
        one: &[(String, JsonNode)],
        other: &[(String, JsonNode)],
    ) -> JsonNode {
        let member = |members: &[(String, JsonNode)], key: &str| {
            members.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
        };
        let start: &[(String, JsonNode)] = match base {
            Some(JsonNode::Object(members)) => members,
            _ => &[],
        };
        let mut fresh: Vec<&String> = one.iter().chain(other).map(|(key, _)| key).collect();
        if !start.is_empty() {
            fresh.sort();
        }
        let mut seen = BTreeSet::new();
        let mut keys: Vec<&String> = start.iter().map(|(key, _)| key).chain(fresh).collect();
        keys.retain(|key| seen.insert(*key));
        let mut merged = Vec::with_capacity(keys.len());
        for key in keys {
            let from = member(start, key);
            path.push(key.clone());
            let value = match (member(one, key), member(other, key)) {
                (Some(one), Some(other)) => Some(self.join(path, from.as_ref(), &one, &other)),
                // Taken away by one side: gone if the other left it as it was.
                (Some(only), None) | (None, Some(only)) => {
                    (from.as_ref() != Some(&only)).then_some(only)
                }
                (None, None) => None,
            };
            path.pop();
            merged.extend(value.map(|value| (key.clone(), value)));
        }
        JsonNode::Object(merged)
    }

    /// Merges lists as ordered sets: existing elements keep their place, new ones follow in an
    /// order of their own.
    fn arrays(
        &mut self,
        path: &mut Vec<String>,
        base: Option<&JsonNode>,
        one: &[JsonNode],
        other: &[JsonNode],
    ) -> JsonNode {
        let start: &[JsonNode] = match base {
            Some(JsonNode::Array(elements)) => elements,
            _ => &[],
        };
        let [from, one, other] = [start, one, other].map(|elements| {
            let mut named: BTreeMap<String, &JsonNode> = BTreeMap::new();
            for element in elements {
                match named.get(&name_of(element)) {
                    // Two of one name in one list are distinguished by their full content.
                    Some(namesake) if *namesake != element => {
                        named.insert(element.to_compact(), element)
                    }
                    _ => named.insert(name_of(element), element),
                };
            }
            named
        });
        let mut order: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        let known = start.iter().flat_map(|element| [name_of(element), element.to_compact()]);
        order.extend(known.filter(|name| from.contains_key(name) && seen.insert(name.clone())));
        order.extend(
            one.keys()
                .chain(other.keys())
                .cloned()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .filter(|name| seen.insert(name.clone())),
        );
        let mut merged = Vec::with_capacity(order.len());
        for name in order {
            match (one.get(&name), other.get(&name)) {
                (Some(one), Some(other)) => {
                    path.push(name.clone());
                    merged.push(self.join(path, from.get(&name).copied(), one, other));
                    path.pop();
                }
                (Some(&only), None) | (None, Some(&only)) if from.get(&name) != Some(&only) => {
                    merged.push(only.clone());
                }
                _ => {}
            }
        }
        if path.last().is_some_and(|name| name == "history") {
            merged.sort_by_key(|change| change.get("at").and_then(time_of));
        }
        JsonNode::Array(merged)
    }
}

/// What an element is called: by a member that names it, else by all of it.
fn name_of(element: &JsonNode) -> String {
    let named = NAMES.iter().find_map(|name| element.get(name).and_then(JsonNode::as_text));
    named.unwrap_or_else(|| element.to_compact())
}

/// What means the same in every file.
fn merge_known_field(path: &[&str], one: &JsonNode, other: &JsonNode) -> Option<JsonNode> {
    let field = *path.last()?;
    let pick = |first: bool| Some(if first { one.clone() } else { other.clone() });
    if LATER.contains(&field) {
        return pick(time_of(one)? >= time_of(other)?);
    }
    if EARLIER.contains(&field) {
        return pick(time_of(one)? <= time_of(other)?);
    }
    match field {
        // Never silently back to active.
        "status" => pick(status(one)? >= status(other)?),
        // No more certain of a person's authority than the less certain side.
        "override_authority" => pick(one.as_text()? == "claimed"),
        _ => None,
    }
}

fn status(node: &JsonNode) -> Option<DecisionStatus> {
    serde_json::from_value(serde_json::Value::String(node.as_text()?)).ok()
}
