//! What may become of a decision after it was made: it is linked to commits,
//! doubted, promoted, superseded or overridden, each with a record of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::record_diff::{DifferenceKind, JsonRecord, altered};
use crate::format::array;

/// Fields that change later, each by a rule of its own.
const FREE: &str = "status superseded_by overridden_by override_reason override_authority compatible_with history commit_hashes commits merge_clashes";
/// Characters of a hash that surely name one commit.
const SHORT_HASH: usize = 7;

/// What the rest of the tree says of a decision.
pub(super) struct DecisionContext<'a> {
    /// Whether there is a decision with this id.
    pub(super) exists: &'a dyn Fn(&str) -> bool,
    /// Whether a decision says that it supersedes this one.
    pub(super) is_superseded: bool,
    /// Whether a new blackboard entry mentions it.
    pub(super) is_announced: bool,
}

/// What became of a decision against the rules.
pub(super) fn changes(
    before: &JsonRecord,
    after: &JsonRecord,
    context: &DecisionContext<'_>,
) -> Vec<DifferenceKind> {
    let mut fields = differing_fields(before, after);
    fields.retain(|field| !FREE.split(' ').any(|free| free == field));
    let is_preserved = |field: &str, matches: &dyn Fn(&Value, &Value) -> bool| {
        let of = |record: &JsonRecord| {
            record.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let now = of(after);
        of(before).iter().all(|old| now.iter().any(|new| matches(old, new)))
    };
    let hash = |value: &Value| {
        value
            .as_str()
            .or_else(|| value.get("hash")?.as_str())
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let is_commit = |old: &Value, new: &Value| is_same_commit(&hash(old), &hash(new));
    fields.extend((!is_preserved("history", &is_equivalent)).then(|| "history".to_owned()));
    fields.extend(
        ["commit_hashes", "commits"]
            .into_iter()
            .filter(|field| !is_preserved(field, &is_commit))
            .map(str::to_owned),
    );

    let agreed = |record: &JsonRecord| record.get("compatible_with").cloned().unwrap_or_default();
    let is_agreed =
        is_preserved("compatible_with", &is_equivalent) && is_in_history(before, after, "active");
    if !is_agreed && !is_equivalent(&agreed(before), &agreed(after)) {
        fields.push("compatible_with".to_owned());
    }
    let successor = text(after, "superseded_by");
    if successor != text(before, "superseded_by")
        && (successor.is_empty() || !(context.exists)(successor))
    {
        fields.push("superseded_by".to_owned());
    }
    // A second override, by a person, says so in the history.
    let is_again = is_in_history(before, after, "overridden");
    let is_altered = |field: &&str| {
        !is_blank(before.get(*field)) && before.get(*field) != after.get(*field) && !is_again
    };
    fields.extend(
        ["overridden_by", "override_reason", "override_authority"]
            .iter()
            .filter(|field| is_altered(field))
            .map(|&f| f.to_owned()),
    );

    let mut changes = altered(fields);
    let status = |record: &JsonRecord| {
        record.get("status").and_then(Value::as_str).unwrap_or("active").to_owned()
    };
    let (from, to) = (status(before), status(after));
    if from != to && !is_legal(&from, &to, before, after, context) {
        changes.push(DifferenceKind::Illegal { from, to });
    }
    changes
}

fn is_legal(
    from: &str,
    to: &str,
    before: &JsonRecord,
    after: &JsonRecord,
    context: &DecisionContext<'_>,
) -> bool {
    let is_recorded = || is_in_history(before, after, to) || context.is_announced;
    match (from, to) {
        ("active", "provisional") => is_recorded() || !is_blank(after.get("merge_clashes")),
        ("provisional", "active") => is_recorded(),
        ("active" | "provisional", "superseded") => {
            let successor = text(after, "superseded_by");
            context.is_superseded || (!successor.is_empty() && (context.exists)(successor))
        }
        ("active" | "provisional" | "superseded", "overridden") => {
            !is_blank(after.get("override_reason"))
        }
        _ => false,
    }
}

/// Whether the history has a new step to this status, with who did it and why.
fn is_in_history(before: &JsonRecord, after: &JsonRecord, status: &str) -> bool {
    let steps = |record: &JsonRecord| {
        record.get("history").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let known = steps(before);
    steps(after).iter().filter(|step| !known.iter().any(|old| is_equivalent(old, step))).any(
        |step| {
            let has = |key: &str| !is_blank(step.get(key));
            step.get("status").and_then(Value::as_str) == Some(status) && has("by") && has("reason")
        },
    )
}

fn is_same_commit(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short == long || (short.len() >= SHORT_HASH && long.starts_with(short))
}

/// What the archives of a tree account for.
#[derive(Default)]
pub(super) struct ArchiveIndex {
    /// Entries contained in an archive file of the tree.
    ids: HashSet<String>,
    /// Entries that summaries on the board speak of, by type.
    counts: BTreeMap<String, usize>,
    /// The same where a summary gives only their number.
    unlisted: usize,
}

impl ArchiveIndex {
    /// Takes in an archive file.
    pub(super) fn read_file(&mut self, bytes: &[u8]) {
        let lines =
            bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        self.ids.extend(lines.filter_map(|line| array::id_of(line.trim())));
    }

    /// Takes in an entry, if it is the summary of an archive: "Archive: 4 entries
    /// archived", with "4 entries archived: 3 finding, 1 status." in its detail.
    pub(super) fn read_summary(&mut self, entry: &Map<String, Value>) {
        let is_archive = entry
            .get("tags")
            .and_then(Value::as_array)
            .is_some_and(|tags| tags.iter().any(|tag| tag == "archive"));
        if !is_archive || text(entry, "entry_type") != "finding" {
            return;
        }
        let first = text(entry, "detail").lines().next().unwrap_or_default();
        let listed = first.split_once(':').map(|(_, listed)| listed).unwrap_or_default();
        let counted = |part: &str| -> Option<(String, usize)> {
            let (count, kind) = part.trim().trim_end_matches('.').split_once(' ')?;
            Some((kind.to_owned(), count.parse().ok()?))
        };
        let by_type: Vec<(String, usize)> = listed.split(',').filter_map(counted).collect();
        if by_type.is_empty() {
            let number = text(entry, "summary")
                .split_whitespace()
                .find_map(|word| word.parse::<usize>().ok());
            self.unlisted += number.unwrap_or_default();
        }
        for (kind, count) in by_type {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    /// Whether an entry that is no longer on the board was archived. Each count is used up.
    pub(super) fn accounts_for(&mut self, id: &str, entry: &Map<String, Value>) -> bool {
        let kind = text(entry, "entry_type");
        if self.ids.contains(id) {
            return true;
        }
        // Decisions are never archived.
        if kind == "decision" {
            return false;
        }
        let remaining = match self.counts.get_mut(kind) {
            Some(remaining) if *remaining > 0 => remaining,
            _ => &mut self.unlisted,
        };
        let is_counted = *remaining > 0;
        *remaining = remaining.saturating_sub(1);
        is_counted
    }
}

/// Fields that say something. One of these that appears later alters a record;
/// an unknown one is of another version, and adds.
const KNOWN: &str = "id timestamp created_at agent_id source_agent target_agent entry_type type tags relates_to scope summary detail \
    origin domain context rationale constraints alternatives depends_on supersedes confidence reversible affected_files affected_symbols \
    assembled_before results event guard source";

/// Names of the fields in which two records differ, sorted.
pub(super) fn differing_fields(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Vec<String> {
    let is_known = |key: &str| KNOWN.split(' ').any(|known| known == key);
    let altered = before
        .iter()
        .filter(|(key, value)| !is_equivalent(value, after.get(*key).unwrap_or(&Value::Null)));
    let added = after.iter().filter(|(key, value)| {
        is_blank(before.get(*key)) && !is_blank(Some(value)) && is_known(key)
    });
    altered.chain(added).map(|(key, _)| key.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether two values say the same.
pub(super) fn is_equivalent(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equivalent(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.iter()
                .all(|(key, value)| is_equivalent(value, other.get(key).unwrap_or(&Value::Null)))
                && other.iter().all(|(key, value)| one.contains_key(key) || is_blank(Some(value)))
        }
        _ => one == other || (is_blank(Some(one)) && is_blank(Some(other))),
    }
}

/// Whether a member says nothing: it is absent, null or empty.
pub(super) fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(_) => false,
    }
}

/// A member that is text.
pub(super) fn text<'v>(record: &'v Map<String, Value>, key: &str) -> &'v str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}
