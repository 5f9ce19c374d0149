//! What may become of a decision after it was made: it is linked to commits,
//! doubted, promoted, superseded or overridden, each with a record of it.

use serde_json::Value;

use super::compare::{DifferenceKind, JsonRecord, altered};
use super::values::{differing_fields, is_blank, is_equivalent, text};

/// Fields that change later, each by a rule of its own.
const FREE: &str = "status superseded_by overridden_by override_reason override_authority history commit_hashes commits merge_clashes";
/// Characters of a hash that surely name one commit.
const SHORT_HASH: usize = 7;

/// What the rest of the tree says of a decision.
pub(super) struct DecisionContext<'a> {
    /// Whether there is a decision with this id.
    pub(super) exists: &'a dyn Fn(&str) -> bool,
    /// Whether a decision says that it supersedes this one.
    pub(super) is_superseded: bool,
    /// Whether a new entry on the board speaks of it.
    pub(super) is_announced: bool,
}

/// What became of a decision against the rules.
pub(super) fn changes(before: &JsonRecord, after: &JsonRecord, context: &DecisionContext<'_>) -> Vec<DifferenceKind> {
    let mut fields = differing_fields(before, after);
    fields.retain(|field| !FREE.split(' ').any(|free| free == field));
    let is_preserved = |field: &str, matches: &dyn Fn(&Value, &Value) -> bool| {
        let of = |record: &JsonRecord| record.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        let now = of(after);
        of(before).iter().all(|old| now.iter().any(|new| matches(old, new)))
    };
    let hash = |value: &Value| value.as_str().or_else(|| value.get("hash")?.as_str()).unwrap_or_default().to_ascii_lowercase();
    let is_commit = |old: &Value, new: &Value| is_same_commit(&hash(old), &hash(new));
    fields.extend((!is_preserved("history", &is_equivalent)).then(|| "history".to_owned()));
    fields.extend(["commit_hashes", "commits"].into_iter().filter(|field| !is_preserved(field, &is_commit)).map(str::to_owned));

    let successor = text(after, "superseded_by");
    if successor != text(before, "superseded_by") && (successor.is_empty() || !(context.exists)(successor)) {
        fields.push("superseded_by".to_owned());
    }
    // A second override, by a person, says so in the history.
    let is_again = is_in_history(before, after, "overridden");
    let is_altered = |field: &&str| !is_blank(before.get(*field)) && before.get(*field) != after.get(*field) && !is_again;
    fields
        .extend(["overridden_by", "override_reason", "override_authority"].iter().filter(|field| is_altered(field)).map(|&f| f.to_owned()));

    let mut changes = altered(fields);
    let status = |record: &JsonRecord| record.get("status").and_then(Value::as_str).unwrap_or("active").to_owned();
    let (from, to) = (status(before), status(after));
    if from != to && !is_legal(&from, &to, before, after, context) {
        changes.push(DifferenceKind::Illegal { from, to });
    }
    changes
}

fn is_legal(from: &str, to: &str, before: &JsonRecord, after: &JsonRecord, context: &DecisionContext<'_>) -> bool {
    let is_recorded = || is_in_history(before, after, to) || context.is_announced;
    match (from, to) {
        ("active", "provisional") => is_recorded() || !is_blank(after.get("merge_clashes")),
        ("provisional", "active") => is_recorded(),
        ("active" | "provisional", "superseded") => {
            let successor = text(after, "superseded_by");
            context.is_superseded || (!successor.is_empty() && (context.exists)(successor))
        }
        ("active" | "provisional" | "superseded", "overridden") => !is_blank(after.get("override_reason")),
        _ => false,
    }
}

/// Whether the history has a new step to this status, with who did it and why.
fn is_in_history(before: &JsonRecord, after: &JsonRecord, status: &str) -> bool {
    let steps = |record: &JsonRecord| record.get("history").and_then(Value::as_array).cloned().unwrap_or_default();
    let known = steps(before);
    steps(after).iter().filter(|step| !known.iter().any(|old| is_equivalent(old, step))).any(|step| {
        let has = |key: &str| !is_blank(step.get(key));
        step.get("status").and_then(Value::as_str) == Some(status) && has("by") && has("reason")
    })
}

fn is_same_commit(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short == long || (short.len() >= SHORT_HASH && long.starts_with(short))
}
