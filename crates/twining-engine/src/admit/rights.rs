//! What a clone may say of itself, and what of others' work takes the role maintainer.

use std::collections::HashSet;

use serde_json::{Map, Value};
use twining_model::{
    Amendment, Authority, Change, Decision, DecisionStatus, Id, Origin, Time, Trust,
};
use twining_store::{LogError, StoreError};

/// How far ahead of ours a clone's clock may be.
const CLOCK_SLACK_MS: i64 = 60 * 60 * 1000;
/// Entries that one line may archive.
const ARCHIVED_AT_ONCE: usize = 100_000;
/// Fields of a decision that settle it.
const SETTLING_FIELDS: [&str; 6] = [
    "status",
    "superseded_by",
    "overridden_by",
    "override_reason",
    "override_authority",
    "compatible_with",
];
/// Those of them with which a decision goes out of force for another.
const SUPERSEDED_FIELDS: [&str; 2] = ["status", "superseded_by"];
/// Which commits carry it out.
pub(super) const COMMIT_FIELDS: [&str; 2] = ["commit_hashes", "commits"];
/// Why a line is refused because of the role.
const SETTLING: &str = "overriding, promoting, reconsidering, archiving and pruning, and changing what a decision says, need the role maintainer";

/// Whose lines they are, as the service knows it by the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAuthor {
    /// Whether it is a person: nobody else's record says that a person wrote or confirmed it.
    pub is_person: bool,
    /// Whether it may override, promote, reconsider, archive and prune.
    pub may_settle: bool,
}

/// What a clone may say: its shared part, without what it may not claim.
pub(super) fn vetted(
    change: Change,
    author: &RemoteAuthor,
    now: Time,
) -> Result<Change, StoreError> {
    let (mut change, _) = change.split_shared();
    check_rights(&change, author)?;
    let latest = Time::from_ms(now.as_ms() + CLOCK_SLACK_MS);
    let entries = change.entries.iter().map(|entry| &entry.id);
    let ids = entries.chain(change.anchors.iter().map(|anchor| &anchor.id));
    if ids
        .filter_map(|id| Id::read(id))
        .chain(change.decisions.iter().map(|decision| decision.id.clone()))
        .any(|id| id.time() > latest)
    {
        return Err(refused("a record has an id from the future; set the clock"));
    }
    let present = |timestamp: &mut String| {
        if Time::read(timestamp).is_some_and(|at| at > latest) {
            *timestamp = now.to_string();
        }
    };
    let trusted = |origin: &mut Option<Origin>| {
        if let Some(origin) = origin.as_mut().filter(|_| !author.is_person) {
            origin.trust = origin.trust.min(Trust::Agent);
        }
    };
    for entry in &mut change.entries {
        present(&mut entry.timestamp);
        trusted(&mut entry.origin);
    }
    for decision in &mut change.decisions {
        present(&mut decision.timestamp);
        trusted(&mut decision.origin);
        if !author.may_settle {
            // That rivals may stand beside each other is agreed by those who may settle it.
            decision.compatible_with.clear();
        }
        if !author.is_person && decision.override_authority.is_some() {
            decision.override_authority = Some(Authority::Claimed);
        }
    }
    change.entities.iter_mut().for_each(|entity| trusted(&mut entity.origin));
    change.relations.iter_mut().for_each(|relation| trusted(&mut relation.origin));
    let traces = change.traces.iter_mut().chain(&mut change.imported_traces);
    traces.for_each(|trace| trusted(&mut trace.origin));
    for anchor in &mut change.anchors {
        present(&mut anchor.timestamp);
        trusted(&mut anchor.origin);
    }
    for amendment in &mut change.amendments {
        vet_amendment(amendment, author)?;
    }
    Ok(change)
}

fn check_rights(change: &Change, author: &RemoteAuthor) -> Result<(), StoreError> {
    if change.archived.len() > ARCHIVED_AT_ONCE {
        return Err(refused("a line archives too many entries"));
    }
    // A decision that comes overridden is history.
    let takes_away = !change.archived.is_empty()
        || !change.removed_entities.is_empty()
        || !change.removed_relations.is_empty();
    // Each amendment is judged alone, and the last one counts: a decision is amended once in a line.
    let mut amended = HashSet::new();
    let settles_twice = !change.amendments.iter().all(|one| amended.insert(&one.id));
    if (takes_away || settles_twice) && !author.may_settle {
        return Err(forbidden(SETTLING));
    }
    Ok(())
}

/// Fails if an amendment of a decision does what a writer may not. A writer adds: commits, what
/// another version of the decision says besides, and which of the decisions it made replaces it.
pub(super) fn check_amendment(
    here: &Map<String, Value>,
    amendment: &Amendment,
    made: &[Decision],
    author: &RemoteAuthor,
) -> Result<(), StoreError> {
    let is_replaced = made.iter().any(|new| replaces(new, here, amendment));
    let may_change = |field: &str, value: &Value| match here.get(field) {
        Some(before) if before == value => true,
        _ if COMMIT_FIELDS.contains(&field) => true,
        _ if SETTLING_FIELDS.contains(&field) => is_replaced && SUPERSEDED_FIELDS.contains(&field),
        None => true,
        Some(before) => before
            .as_array()
            .zip(value.as_array())
            .is_some_and(|(before, after)| before.iter().all(|element| after.contains(element))),
    };
    if author.may_settle || amendment.set.iter().all(|(field, value)| may_change(field, value)) {
        return Ok(());
    }
    Err(forbidden(SETTLING))
}

/// Whether a decision replaces the one that is amended, and nothing else is said of its status. One
/// that is out of force already stays so.
fn replaces(new: &Decision, here: &Map<String, Value>, amendment: &Amendment) -> bool {
    let set = |field| amendment.set.get(field).and_then(Value::as_str);
    let is_as_before = amendment.set.get("status") == here.get("status");
    matches!(new.status, DecisionStatus::Active | DecisionStatus::Provisional)
        && new.supersedes.as_deref() == Some(amendment.id.as_str())
        && set("superseded_by") == Some(new.id.as_str())
        && (is_as_before
            || set("status").is_none_or(|status| status == DecisionStatus::Superseded.as_str()))
}

fn vet_amendment(amendment: &mut Amendment, author: &RemoteAuthor) -> Result<(), StoreError> {
    let id = amendment.id.as_str();
    if amendment.set.get("id").is_some_and(|other| other.as_str() != Some(id)) {
        return Err(refused("an amendment changes the id of a decision"));
    }
    if author.is_person {
        return Ok(());
    }
    if let Some(authority) = amendment.set.get_mut("override_authority") {
        *authority = Value::from(Authority::Claimed.as_str());
    }
    if let Some(origin) = amendment.set.get_mut("origin").and_then(Value::as_object_mut)
        && origin.get("trust").and_then(Value::as_str) == Some(Trust::Human.as_str())
    {
        origin.insert("trust".to_owned(), Value::from(Trust::Agent.as_str()));
    }
    Ok(())
}

pub(super) fn refused(why: &str) -> StoreError {
    LogError::Refused(why.to_owned()).into()
}

/// Refused because of the role alone.
fn forbidden(why: &str) -> StoreError {
    let hint = "ask an administrator for a token with the role `maintainer`";
    LogError::Denied { why: why.to_owned(), hint }.into()
}
